{{- define "tocsin.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* What tells the pods of a component. Takes root, component, and region where there is one. */}}
{{- define "tocsin.selector" -}}
app.kubernetes.io/name: {{ default .root.Chart.Name .root.Values.nameOverride }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- with .region }}
tocsin.dev/region: {{ . }}
{{- end }}
{{- end -}}

{{- define "tocsin.labels" -}}
{{ include "tocsin.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: tocsin
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end -}}

{{/* Takes root and service. */}}
{{- define "tocsin.image" -}}
{{- $image := .root.Values.image -}}
{{- with $image.registry }}{{ . }}/{{ end }}{{ $image.repository }}/{{ .service }}:{{ default .root.Chart.AppVersion $image.tag }}
{{- end -}}

{{- define "tocsin.secretName" -}}
{{- default (include "tocsin.fullname" .) .Values.existingSecret -}}
{{- end -}}

{{- define "tocsin.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "tocsin.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* eu-west-1 → QUEUE_URL_EU_WEST_1 */}}
{{- define "tocsin.queueVariable" -}}
QUEUE_URL_{{ . | upper | replace "-" "_" }}
{{- end -}}

{{/* Variables out of the Secret. Takes secretName, required (names) and optional (names). */}}
{{- define "tocsin.secretEnv" -}}
{{- $secretName := .secretName -}}
{{- range .required }}
- name: {{ . }}
  valueFrom: { secretKeyRef: { name: {{ $secretName }}, key: {{ . }} } }
{{- end }}
{{- range .optional }}
- name: {{ . }}
  valueFrom: { secretKeyRef: { name: {{ $secretName }}, key: {{ . }}, optional: true } }
{{- end }}
{{- end -}}

{{/* A changed setting restarts the pods that read it at their start. */}}
{{- define "tocsin.checksums" -}}
checksum/settings: {{ include "tocsin.settings" . | sha256sum }}
{{- if not .Values.existingSecret }}
checksum/secrets: {{ .Values.secrets | toJson | sha256sum }}
{{- end }}
{{- end -}}

{{/* What the ConfigMap holds. What Ingress and routes imply is filled in, and what is set goes before. */}}
{{- define "tocsin.settings" -}}
{{- $implied := dict -}}
{{- if .Values.ingress.enabled -}}
{{- $scheme := ternary "https" "http" (ne .Values.ingress.tlsSecret "") -}}
{{- $_ := set $implied "PUBLIC_URL" (printf "%s://%s" $scheme .Values.ingress.host) -}}
{{- else if and .Values.httpRoute.enabled .Values.httpRoute.hostnames -}}
{{- $_ := set $implied "PUBLIC_URL" (printf "https://%s" (first .Values.httpRoute.hostnames)) -}}
{{- end -}}
{{- if or .Values.ingress.enabled .Values.httpRoute.enabled -}}
{{- $_ := set $implied "TRUST_PROXY" "1" -}}
{{- end -}}
{{- range $name, $value := merge (dict) .Values.settings $implied }}
{{ $name }}: {{ ternary ($value | int64 | toString) ($value | toString) (kindIs "float64" $value) | quote }}
{{- end }}
{{- end -}}

{{/* What all pods share. Takes root, component, region (or nothing) and values, those of the component. */}}
{{- define "tocsin.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  seccompProfile: { type: RuntimeDefault }
volumes:
  - name: tmp
    emptyDir: { sizeLimit: 64Mi }
  {{- if .root.Values.certificates.configMap }}
  - name: certificates
    configMap: { name: {{ .root.Values.certificates.configMap }} }
  {{- end }}
{{- with .values.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}

{{/* Over zones first, then over nodes; pods are never kept from starting for it. */}}
{{- define "tocsin.spread" -}}
topologySpreadConstraints:
  {{- $selector := include "tocsin.selector" . }}
  {{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
  - topologyKey: {{ . }}
    maxSkew: 1
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{ $selector | nindent 8 }}
    matchLabelKeys: [pod-template-hash]
  {{- end }}
{{- end -}}

{{/* One more variable of a container. Takes root. */}}
{{- define "tocsin.storesAuthorities" -}}
{{- with .root.Values.certificates.storesKey }}
- { name: NODE_EXTRA_CA_CERTS, value: {{ printf "/etc/tocsin/%s" . | quote }} }
{{- end }}
{{- end -}}

{{- define "tocsin.container" -}}
image: {{ include "tocsin.image" . }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
volumeMounts:
  - { name: tmp, mountPath: /tmp }
  {{- if .root.Values.certificates.configMap }}
  - { name: certificates, mountPath: /etc/tocsin, readOnly: true }
  {{- end }}
{{- with .values.resources }}
resources: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/*
/healthz fails where the work makes no progress: then a restart helps. /readyz fails where a store is away: then it does not.
Each answers within 2 s. Takes port, the name of it, and exclude: a store that the pod can be without, since all pods share it.
*/}}
{{- define "tocsin.probes" -}}
startupProbe:
  httpGet: { path: /healthz, port: {{ .port }} }
  periodSeconds: 2
  timeoutSeconds: 3
  failureThreshold: 45
livenessProbe:
  httpGet: { path: /healthz, port: {{ .port }} }
  periodSeconds: 10
  timeoutSeconds: 3
  failureThreshold: 3
readinessProbe:
  httpGet: { path: '/readyz{{ with .exclude }}?exclude={{ . }}{{ end }}', port: {{ .port }} }
  periodSeconds: 5
  timeoutSeconds: 3
  failureThreshold: 2
{{- end -}}
