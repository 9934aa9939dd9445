{{- define "rapport.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end }}

{{- define "rapport.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "rapport.labels" -}}
{{ include "rapport.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "rapport.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{/* What every pod has in common. */}}
{{- define "rapport.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
  seccompProfile: { type: RuntimeDefault }
{{- end }}

{{/* What every container has in common. */}}
{{- define "rapport.container" -}}
image: {{ include "rapport.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end }}

{{/* A Deployment of the API or the worker: (dict "root" $ "program" "api" "values" .Values.api "port" 3000). */}}
{{- define "rapport.deployment" -}}
{{- $root := .root -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "rapport.fullname" $root }}-{{ .program }}
  labels: {{ include "rapport.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .program }}
spec:
  {{- if not .values.autoscaling.enabled }}
  replicas: {{ .values.replicas }}
  {{- end }}
  # A new pod is ready before an old one stops.
  strategy: { type: RollingUpdate, rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } }
  selector:
    matchLabels: {{ include "rapport.selector" $root | nindent 6 }}
      app.kubernetes.io/component: {{ .program }}
  template:
    metadata:
      labels: {{ include "rapport.labels" $root | nindent 8 }}
        app.kubernetes.io/component: {{ .program }}
      annotations:
        # Restarts the pods when the configuration changes.
        checksum/config: {{ $root.Values.config | toJson | sha256sum }}
        {{- with .values.podAnnotations }}{{ toYaml . | nindent 8 }}{{ end }}
    spec: {{ include "rapport.pod" $root | nindent 6 }}
      terminationGracePeriodSeconds: 60
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels: {{ include "rapport.selector" $root | nindent 14 }}
              app.kubernetes.io/component: {{ .program }}
      {{- with .values.nodeSelector }}
      nodeSelector: {{ toYaml . | nindent 8 }}
      {{- end }}
      {{- with .values.tolerations }}
      tolerations: {{ toYaml . | nindent 8 }}
      {{- end }}
      containers:
        - name: {{ .program }}
          {{- include "rapport.container" $root | nindent 10 }}
          args: [{{ .program }}]
          envFrom:
            - configMapRef: { name: {{ include "rapport.fullname" $root }} }
            - secretRef: { name: {{ $root.Values.existingSecret }} }
          ports:
            - { name: http, containerPort: {{ .port }} }
            {{- with .smtpPort }}
            - { name: smtp, containerPort: {{ int . }} }
            {{- end }}
          # /health fails only if the process hangs, /ready also without PostgreSQL.
          startupProbe: { httpGet: { path: /health, port: http }, periodSeconds: 2, timeoutSeconds: 5, failureThreshold: 60 }
          livenessProbe: { httpGet: { path: /health, port: http }, periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 3 }
          readinessProbe: { httpGet: { path: /ready, port: http }, periodSeconds: 5, timeoutSeconds: 4, failureThreshold: 2 }
          resources: {{ toYaml .values.resources | nindent 12 }}
          volumeMounts: [{ name: tmp, mountPath: /tmp }]
      volumes: [{ name: tmp, emptyDir: {} }]
{{- end }}

{{- define "rapport.disruptionBudget" -}}
{{- if .values.podDisruptionBudget.enabled }}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "rapport.fullname" .root }}-{{ .program }}
  labels: {{ include "rapport.labels" .root | nindent 4 }}
spec:
  maxUnavailable: {{ .values.podDisruptionBudget.maxUnavailable }}
  selector:
    matchLabels: {{ include "rapport.selector" .root | nindent 6 }}
      app.kubernetes.io/component: {{ .program }}
{{- end }}
{{- end }}
