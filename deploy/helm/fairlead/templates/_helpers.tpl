{{- define "fairlead.name" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}{{ .Values.fullnameOverride | trunc 50 | trimSuffix "-" }}
{{- else if contains $name .Release.Name -}}{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else -}}{{ printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" }}{{- end -}}
{{- end -}}

{{- define "fairlead.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "fairlead.labels" -}}
{{ include "fairlead.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "fairlead.image" -}}
{{- if .Values.image.digest -}}{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}{{- end -}}
{{- end -}}

{{/* Rejects invalid combinations before anything changes. */}}
{{- define "fairlead.check" -}}
{{- if not .Values.secret.name -}}
{{- fail "secret.name is not set: create a Secret with the master key and the addresses of PostgreSQL and Redis (see values.yaml)" -}}
{{- end -}}
{{- $many := or .Values.autoscaling.enabled (gt (int .Values.replicaCount) 1) -}}
{{- if and $many (not .Values.secret.keys.redis) -}}
{{- fail "secret.keys.redis is empty: several replicas need a Redis to share limits and budgets" -}}
{{- end -}}
{{- if lt (int .Values.drain.graceSeconds) (add (int .Values.drain.waitSeconds) 45) -}}
{{- fail "drain.graceSeconds must be at least drain.waitSeconds + 45: 30 s to drain, 10 s to deliver, and a margin" -}}
{{- end -}}
{{- end -}}
