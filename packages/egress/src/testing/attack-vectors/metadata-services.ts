import { vectors, words, type AttackVector } from './attack-vector.ts';

const at = (urls: string): string[] => words(urls).map((url) => `http://${url}`);

/** What clouds and container platforms serve their machines: credentials above all. Names are in `hostile-names.ts`. */
export const METADATA_SERVICES: readonly AttackVector[] = [
  ...vectors(
    'metadata: AWS',
    'blocked',
    at(`
      169.254.169.254/latest/meta-data/ 169.254.169.254/latest/meta-data/iam/security-credentials/
      169.254.169.254/latest/user-data 169.254.169.254/latest/dynamic/instance-identity/document
      [fd00:ec2::254]/latest/meta-data/ 169.254.169.253 [fd00:ec2::253] 169.254.169.123 [fd00:ec2::123]
      169.254.170.2/v2/credentials/ 169.254.170.23/v1/credentials [fd00:ec2::23]/v1/credentials
      2852039166/latest/meta-data/ 0xA9FEA9FE/latest/user-data [::ffff:a9fe:a9fe]/latest/meta-data/
      instance-data/latest/meta-data/ instance-data.ec2.internal/latest/meta-data/
      localhost:9001/2018-06-01/runtime/invocation/next
    `),
  ),
  ...vectors(
    'metadata: Google Cloud',
    'blocked',
    at(`
      169.254.169.254/computeMetadata/v1/ metadata.google.internal/computeMetadata/v1/
      metadata.google.internal/computeMetadata/v1beta1/?recursive=true metadata/computeMetadata/v1/
      metadata.goog/computeMetadata/v1/ [fd20:ce::254]/computeMetadata/v1/
    `),
  ),
  ...vectors(
    'metadata: Azure',
    'blocked',
    at(`
      169.254.169.254/metadata/instance?api-version=2021-02-01 169.254.169.254/metadata/v1/maintenance
      168.63.129.16/ 168.63.129.16:32526/vmSettings 2822734096/
    `),
  ),
  ...vectors(
    'metadata: other clouds',
    'blocked',
    at(`
      100.100.100.200/latest/meta-data/ 1684301000/latest/meta-data/ 192.0.0.192/latest/
      192.0.0.192/latest/attributes/ 169.254.169.254/opc/v2/instance/ [fd00:c1::a9fe:a9fe]/opc/v2/
      169.254.169.254/metadata/v1.json 169.254.169.254/openstack [fe80::a9fe:a9fe]/openstack
      169.254.169.254/2009-04-04/meta-data/ 169.254.169.254/hetzner/v1/metadata 169.254.42.42/conf
      [fd00:42::42]/conf [fd00:a9fe:a9fe::1]/v1/instance 169.254.0.23/latest/meta-data/
      metadata.tencentyun.com/latest/meta-data/ 169.254.169.254/v1.json 100.96.0.96/latest/
      100.80.80.80/meta-data/latest/ 100.88.222.5/ api.metadata.cloud.ibm.com/instance_identity/v1/token
      192.80.8.124/userdata metadata.packet.net/userdata metadata.platformequinix.com/metadata
    `),
  ),
  ...vectors(
    'container platforms',
    'blocked',
    at(`
      10.96.0.1/api/v1/secrets 10.43.0.1/api 10.0.0.1:443/api 10.96.0.10:9153/metrics [fd00:10:96::1]/api
      kubernetes.default.svc/api kubernetes.default.svc.cluster.local/api 169.254.20.10:9253/metrics
      127.0.0.1:10250/pods 127.0.0.1:10255/pods 127.0.0.1:2379/v2/keys/?recursive=true
      127.0.0.1:2375/v1.24/containers/json 172.17.0.1/ 172.18.0.1/ 10.88.0.1/ 192.168.65.254/
      host.docker.internal/ gateway.docker.internal/ host.containers.internal/
      rancher-metadata/latest/ 169.254.169.250/latest/
    `),
  ),
];
