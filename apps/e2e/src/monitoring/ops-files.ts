/** The files for Prometheus, Alertmanager and Grafana in ops/, as data. */
import { globSync, readFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { parse } from 'yaml'

export const root = resolve(import.meta.dirname, '../../../..')
export const opsFolder = join(root, 'ops')

export const readText = (path: string): string => readFileSync(join(root, path), 'utf8')
export const readYaml = (path: string): unknown => parse(readText(path))

export interface Alert {
  alert: string
  expr: string
  for?: string
  labels: { severity: string }
  annotations: { summary: string; action: string; runbook_url: string }
}

export const readAlerts = (): Alert[] =>
  (readYaml('ops/prometheus/alerts.yml') as { groups: { rules: Alert[] }[] }).groups.flatMap(({ rules }) => rules)

export interface ScrapeJob {
  job_name: string
  authorization?: { credentials_file: string }
  static_configs: { targets: string[] }[]
}
export interface PrometheusConfig {
  global: { scrape_interval: string; evaluation_interval?: string; external_labels: Record<string, string> }
  scrape_configs: ScrapeJob[]
}
export const readPrometheusConfig = () => readYaml('ops/prometheus/prometheus.yml') as PrometheusConfig

export interface Panel {
  id: number
  type: string
  title: string
  description?: string
  datasource?: unknown
  gridPos: { h: number; w: number; x: number; y: number }
  fieldConfig?: { defaults: { unit?: string } }
  targets?: { refId: string; expr: string; legendFormat: string; datasource: unknown; instant?: boolean }[]
}
export interface Dashboard {
  title: string
  uid: string
  description: string
  tags: string[]
  links: { type: string; tags: string[] }[]
  templating: { list: { name: string; type: string; query: string }[] }
  panels: Panel[]
}

/** The dashboards, by the names of their files. */
export const dashboards: [name: string, dashboard: Dashboard][] = globSync('grafana/*.json', { cwd: opsFolder })
  .toSorted()
  .map((file) => [basename(file, '.json'), JSON.parse(readText(`ops/${file}`)) as Dashboard])
