import { vectorsOf, type AttackVector } from './attack-vector.ts';

const atPath = (path: string): string => `http://${path}`;

/** Clouds and container platforms serve credentials to their machines here. Names are in `hostile-names.ts`. */
export const METADATA_SERVICES: readonly AttackVector[] = vectorsOf('blocked', atPath, {
  'metadata: AWS': `
    169.254.169.254/latest/meta-data/iam/security-credentials/ [fd00:ec2::254]/latest/meta-data/
    169.254.170.2/v2/credentials/ 2852039166/latest/meta-data/ 0xA9FEA9FE/latest/user-data
    [::ffff:a9fe:a9fe]/latest/meta-data/ instance-data/latest/meta-data/
    localhost:9001/2018-06-01/runtime/invocation/next
  `,
  'metadata: Google Cloud': `
    metadata.google.internal/computeMetadata/v1beta1/?recursive=true metadata/computeMetadata/v1/
    [fd20:ce::254]/computeMetadata/v1/
  `,
  'metadata: Azure': `
    169.254.169.254/metadata/instance?api-version=2021-02-01 168.63.129.16:32526/vmSettings 2822734096/
  `,
  'metadata: other clouds': `
    100.100.100.200/latest/meta-data/ 1684301000/latest/meta-data/ 192.0.0.192/latest/
    [fd00:c1::a9fe:a9fe]/opc/v2/ [fe80::a9fe:a9fe]/openstack 169.254.42.42/conf 100.96.0.96/latest/
    metadata.tencentyun.com/latest/meta-data/ 192.80.8.124/userdata metadata.packet.net/userdata
  `,
  'container platforms': `
    10.96.0.1/api/v1/secrets [fd00:10:96::1]/api kubernetes.default.svc/api 127.0.0.1:10250/pods
    127.0.0.1:2375/v1.24/containers/json 172.17.0.1/ host.docker.internal/ rancher-metadata/latest/
  `,
});
