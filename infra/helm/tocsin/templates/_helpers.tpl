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

{{/*
Most templates take a scope, a dict of:
  root       the root context
  component  api, notifier, checker, gateway, agent, operator or migrate
  region     of a checker; optional
  values     the values of the component
  title      the name of these values in error messages
*/}}

{{/* The labels that select the pods of a component. Takes a scope. */}}
{{- define "tocsin.selector" -}}
app.kubernetes.io/name: {{ default .root.Chart.Name .root.Values.nameOverride | quote }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .component }}
{{- with .region }}
tocsin.dev/region: {{ . | quote }}
{{- end }}
{{- end -}}

{{- define "tocsin.labels" -}}
{{ include "tocsin.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: tocsin
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end -}}

{{/*
A map of the chart with more keys from the values. Takes own (the chart's map, as YAML), more (a map), title (the name of that
value) and reserved (further keys that the value must not set; optional).
*/}}
{{- define "tocsin.extend" -}}
{{- $taken := concat (keys (fromYaml .own)) (default (list) .reserved) -}}
{{- .own -}}
{{- range $key, $value := .more }}
{{- if has $key $taken }}
{{- fail (printf "%s must not set %s: the chart sets it" $.title $key) }}
{{- end }}
{{ $key | quote }}: {{ $value | quote }}
{{- end }}
{{- end -}}

{{/* The labels of the pods of a component. Takes a scope. */}}
{{- define "tocsin.podLabels" -}}
{{- include "tocsin.extend" (dict "own" (include "tocsin.labels" .) "more" .values.podLabels "title" (printf "podLabels of %s" .title) "reserved" (list "tocsin.dev/region" "tocsin.dev/network-policy")) -}}
{{- end -}}

{{/* The annotations of the pods of a service. Takes a scope. */}}
{{- define "tocsin.podAnnotations" -}}
{{- include "tocsin.extend" (dict "own" (include "tocsin.checksums" .root) "more" .values.podAnnotations "title" (printf "podAnnotations of %s" .title)) -}}
{{- end -}}

{{/*
The variables of a container: those of "tocsin.env.<component>", then extraEnv, which must not set any of them again. Takes a scope.
Services also read the ConfigMap of the settings. The migration, agents and operators do not.
*/}}
{{- define "tocsin.env" -}}
{{- $own := include (printf "tocsin.env.%s" .component) . -}}
{{- $taken := list -}}
{{- range fromYamlArray $own }}{{ $taken = append $taken .name }}{{ end -}}
{{- $settings := list -}}
{{- $shared := list -}}
{{- if not (has .component (list "migrate" "agent" "operator")) -}}
{{- $settings = keys (fromYaml (include "tocsin.settings" .root)) -}}
{{- /* The network policy depends on three settings, so they are never variables of one service. */ -}}
{{- $shared = concat (keys (fromYaml (include "tocsin.impliedSettings" .root))) (list "EGRESS_ALLOW_CIDRS" "OIDC_ISSUER" "OTEL_EXPORTER_OTLP_ENDPOINT") -}}
{{- end -}}
{{- $own -}}
{{- range .values.extraEnv }}
{{- if has .name $taken }}
{{- fail (printf "extraEnv of %s must not set %s: the chart sets it, or extraEnv has it twice" $.title .name) }}
{{- else if has .name $shared }}
{{- fail (printf "extraEnv of %s must not set %s: set settings.%s instead" $.title .name .name) }}
{{- else if has .name $settings }}
{{- fail (printf "extraEnv of %s must not set %s: remove settings.%s, or change it there instead" $.title .name .name) }}
{{- end }}
{{- $taken = append $taken .name }}
{{- end }}
{{- with .values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* A value of a region: the value of all regions, overridden by that of the region. Takes root, name and region; returns YAML. */}}
{{- define "tocsin.ofRegion" -}}
{{- $region := default (dict) (get .root.Values.regions .region) -}}
{{- $given := ternary $region (default (dict) (get $region .name)) (eq .name "checker") -}}
{{- mergeOverwrite (deepCopy (get .root.Values .name)) $given | toYaml -}}
{{- end -}}

{{/* Takes a scope. A digest replaces the tag: runtimes ignore a tag beside it, and some tools refuse both. */}}
{{- define "tocsin.image" -}}
{{- $image := .root.Values.image -}}
{{- $name := ternary "checker" .component (eq .component "gateway") -}}
{{- $digest := get $image.digests $name -}}
{{- $version := ternary (printf "@%s" $digest) (printf ":%s" (default .root.Chart.AppVersion $image.tag)) (ne $digest "") -}}
{{- printf "%s/%s/%s%s" $image.registry $image.repository $name $version -}}
{{- end -}}

{{/* Not empty if a component needs PostgreSQL and the queue, which agents and operators do not. Takes the root context. */}}
{{- define "tocsin.usesStores" -}}
{{- with .Values -}}
{{- if or .api.enabled .notifier.enabled .migrations.enabled .gateway.enabled .regions -}}yes{{- end -}}
{{- end -}}
{{- end -}}

{{/* Where an operator reaches Tocsin. Takes the root context. */}}
{{- define "tocsin.operatorUrl" -}}
{{- default (printf "http://%s-api:%v" (include "tocsin.fullname" .) .Values.api.service.port) .Values.operator.url -}}
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

{{/* Variables from the Secret. Takes secretName, required (names) and optional (names). */}}
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

{{/* Services read their settings at startup, so a changed setting restarts the pods. Takes the root context. */}}
{{- define "tocsin.checksums" -}}
checksum/settings: {{ include "tocsin.settings" . | sha256sum }}
{{- if not .Values.existingSecret }}
checksum/secrets: {{ .Values.secrets | toJson | sha256sum }}
{{- end }}
{{- end -}}

{{/* The chart's defaults for settings, most of which follow from Ingress and HTTPRoute. Takes the root context. */}}
{{- define "tocsin.impliedSettings" -}}
{{- $implied := dict "LOG_FORMAT" "json" -}}
{{- if .Values.ingress.enabled -}}
{{- $scheme := ternary "http" "https" (empty .Values.ingress.tlsSecret) -}}
{{- $_ := set $implied "PUBLIC_URL" (printf "%s://%s" $scheme .Values.ingress.host) -}}
{{- else if and .Values.httpRoute.enabled .Values.httpRoute.hostnames -}}
{{- $_ := set $implied "PUBLIC_URL" (printf "https://%s" (first .Values.httpRoute.hostnames)) -}}
{{- end -}}
{{- if or .Values.ingress.enabled .Values.httpRoute.enabled -}}
{{- $_ := set $implied "TRUST_PROXY" "1" -}}
{{- end -}}
{{- toYaml $implied -}}
{{- end -}}

{{/* The data of the ConfigMap. Takes the root context. */}}
{{- define "tocsin.settings" -}}
{{- range $name, $value := merge (dict) (default (dict) .Values.settings) (include "tocsin.impliedSettings" . | fromYaml) }}
{{ $name }}: {{ ternary ($value | int64 | toString) ($value | toString) (kindIs "float64" $value) | quote }}
{{- end }}
{{- end -}}

{{/* The part of a pod's spec that all pods share. Takes a scope. */}}
{{- define "tocsin.pod" -}}
# Only the operator talks to the API server.
automountServiceAccountToken: {{ eq .component "operator" }}
enableServiceLinks: false
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  {{- if not .root.Values.openshift.enabled }}
  runAsUser: 1000
  runAsGroup: 1000
  {{- end }}
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
{{- $affinity := deepCopy .values.affinity }}
{{- if ne .component "migrate" }}{{ $affinity = merge $affinity (include "tocsin.zones" . | fromYaml) }}{{ end }}
{{- with $affinity }}
affinity: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}

{{/* Takes the root context. */}}
{{- define "tocsin.checkAuthorities" -}}
{{- with .Values.certificates.checkKey }}
- { name: CHECK_CA_FILE, value: {{ printf "/etc/tocsin/%s" . | quote }} }
{{- end }}
{{- end -}}

{{/*
Prefers zones without pods of the component. This is not a topology spread constraint, because the scheduler spreads only over nodes
that have the labels of all constraints, and nodes outside of clouds have no zone. Takes a scope.
*/}}
{{- define "tocsin.zones" -}}
podAntiAffinity:
  preferredDuringSchedulingIgnoredDuringExecution:
    - weight: 100
      podAffinityTerm:
        topologyKey: topology.kubernetes.io/zone
        labelSelector:
          matchLabels: {{ include "tocsin.selector" . | nindent 12 }}
{{- end -}}

{{/* Spreads pods over nodes where possible. Takes a scope. */}}
{{- define "tocsin.spread" -}}
topologySpreadConstraints:
  - topologyKey: kubernetes.io/hostname
    maxSkew: 1
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{ include "tocsin.selector" . | nindent 8 }}
    matchLabelKeys: [pod-template-hash]
{{- end -}}

{{/* Takes the root context. */}}
{{- define "tocsin.storesAuthorities" -}}
{{- with .Values.certificates.storesKey }}
- { name: NODE_EXTRA_CA_CERTS, value: {{ printf "/etc/tocsin/%s" . | quote }} }
{{- end }}
{{- end -}}

{{/* The part of a container that all containers share. Takes a scope. */}}
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
/healthz fails if the process makes no progress, which a restart can fix. /readyz fails if a store is unavailable, which a restart
cannot fix. Both respond within 2 s. Takes port (its name) and exclude (a store that the pod can do without; optional).
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
