/** The files for Prometheus and Alertmanager are valid, and every alert is tested and documented. */
import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findMonitoringPrograms } from '@rapport/testing/processes/monitoring-programs.ts'
import { describe, expect, test } from 'vitest'
import { type Alert, opsFolder, readAlerts, readPrometheusConfig, readText, readYaml } from './ops-files.ts'

const alerts = readAlerts()
const names = [...new Set(alerts.map(({ alert }) => alert))]
const runbooks = readText('docs/alerts.md')
const setup = readText('docs/operations.md')

test('every alert has a severity, a summary, an action and a link to its section', () => {
  const documented = [...runbooks.matchAll(/^## (Rapport\w+)$/gm)].map(([, name = '']) => name)
  expect(names.toSorted()).toEqual(documented.toSorted())
  expect(names.length).toBeGreaterThan(20)
  const incomplete = alerts.filter(
    ({ alert, labels, annotations }) =>
      !['page', 'ticket'].includes(labels.severity) ||
      !annotations.summary ||
      !annotations.action ||
      annotations.runbook_url !== `{{ $externalLabels.runbooks }}#${alert.toLowerCase()}`,
  )
  expect(incomplete).toEqual([])
})

test('the address of the runbooks is set once, and ends with their path', () => {
  expect(readPrometheusConfig().global.external_labels['runbooks']).toMatch(/^https:\/\/.+\/docs\/alerts\.md$/)
  expect(setup).toMatch(/`runbooks`, the address[^.]+\[Alerts\]\(alerts\.md\)/)
  expect(readText('ops/helm/rapport/README.md')).toContain('`runbooks`')
})

test('prometheus.yml names a section that exists', () => {
  const text = readText('ops/prometheus/prometheus.yml')
  const [, page = '', section = ''] = /(docs\/\w+\.md), section "(\w+)"/.exec(text) ?? []
  expect(readText(page)).toContain(`\n## ${section}\n`)
})

test('the setup makes every file with a secret that the configurations name', () => {
  const texts = ['ops/prometheus/prometheus.yml', 'ops/alertmanager/alertmanager.yml'].map(readText)
  const named = texts.flatMap((text) => [...text.matchAll(/_file: (\S+)$/gm)].map(([, path = '']) => path))
  expect(named.length).toBeGreaterThan(3)
  expect(named.filter((path) => !setup.includes(` > ${path}\n`))).toEqual([])
})

test('every section says when the alert is over', () => {
  const sections = runbooks.split(/^## /m).filter((section) => section.startsWith('Rapport'))
  const unclear = sections.filter((section) => !/^\*\*Over\*\* /m.test(section))
  expect(unclear.map((section) => section.split('\n', 1)[0])).toEqual([])
})

test('every alert has a test in which it does not fire, and then fires', () => {
  interface AlertTest {
    name: string
    promql_expr_test: { exp_samples: { labels: string }[] }[]
  }
  const { tests } = readYaml('ops/prometheus/alerts.test.yml') as { tests: AlertTest[] }
  const tested = tests.filter(({ promql_expr_test: [before, after] }) => before && after?.exp_samples.length)
  for (const { promql_expr_test: checks } of tested) expect(checks[0]?.exp_samples).toEqual([])
  const firing = tested.flatMap(({ promql_expr_test: checks }) => checks.flatMap(({ exp_samples }) => exp_samples))
  const covered = new Set(firing.flatMap(({ labels }) => /alertname="(\w+)"/.exec(labels)?.[1] ?? []))
  expect([...covered].toSorted()).toEqual(names.toSorted())
})

interface InhibitRule {
  source_matchers: string[]
  target_matchers: string[]
}
const { inhibit_rules: inhibitRules } = readYaml('ops/alertmanager/alertmanager.yml') as {
  inhibit_rules: InhibitRule[]
}

const alertsIn = (matchers: string[]) =>
  matchers.flatMap((matcher) => {
    const [, single, group] = /^alertname =~? "?(?:Rapport\(([^)]+)\)"|(Rapport\w+))$/.exec(matcher) ?? []
    return single ? single.split('|').map((name) => `Rapport${name}`) : (group ?? [])
  })

test('every alert that Alertmanager names exists', () => {
  const named = inhibitRules.flatMap(({ source_matchers, target_matchers }) =>
    alertsIn([...source_matchers, ...target_matchers]),
  )
  expect(named.length).toBeGreaterThan(20)
  expect(named.filter((name) => !names.includes(name))).toEqual([])
})

test('a cause that silences RapportWorkWaits silences waiting webhooks and emails', () => {
  const targets = inhibitRules.map(({ target_matchers }) => alertsIn(target_matchers))
  const ofWaitingWork = targets.filter((alerts) => alerts.includes('RapportWorkWaits'))
  expect(ofWaitingWork).toHaveLength(3)
  for (const alerts of ofWaitingWork)
    expect(alerts).toEqual(expect.arrayContaining(['RapportWebhooksWait', 'RapportEmailsWait']))
})

const run = promisify(execFile)
const programs = await findMonitoringPrograms()

describe.skipIf(!programs)('with the programs of Prometheus', () => {
  const { promtool = '', amtool = '', blackboxExporter = '' } = programs ?? {}
  const prometheusFolder = join(opsFolder, 'prometheus')

  test('the tests of the alerts pass', async () => {
    const { stdout } = await run(promtool, ['test', 'rules', 'alerts.test.yml'], { cwd: prometheusFolder })
    expect(stdout).toContain('SUCCESS')
  })

  test('Prometheus accepts its configuration and the alerts', async () => {
    // Syntax only: the file with the token is not here.
    const { stdout } = await run(promtool, ['check', 'config', '--syntax-only', 'prometheus.yml'], {
      cwd: prometheusFolder,
    })
    expect(stdout).toContain('is valid prometheus config file syntax')
    const checked = await run(promtool, ['check', 'rules', 'alerts.yml'], { cwd: prometheusFolder })
    expect(checked.stdout).toContain(`SUCCESS: ${alerts.length} rules found`)
  })

  test('the blackbox exporter accepts its configuration', async () => {
    const parameters = ['--config.file=blackbox.yml', '--config.check']
    const { stderr } = await run(blackboxExporter, parameters, { cwd: prometheusFolder })
    expect(stderr).toContain('Config file is ok')
  })

  const alertmanagerFile = join(opsFolder, 'alertmanager', 'alertmanager.yml')

  test('Alertmanager accepts its configuration', async () => {
    const { stdout } = await run(amtool, ['check-config', alertmanagerFile])
    expect(stdout).toContain('SUCCESS')
  })

  test.each(alerts.map((alert): [string, Alert] => [`${alert.alert} (${alert.labels.severity})`, alert]))(
    'Alertmanager sends %s to the receiver of its severity',
    async (_name, { alert, labels }) => {
      const route = ['config', 'routes', 'test', `--config.file=${alertmanagerFile}`]
      const { stdout } = await run(amtool, [...route, `alertname=${alert}`, `severity=${labels.severity}`])
      expect(stdout.trim()).toBe(labels.severity)
    },
  )
})

test('ops/prometheus has no file that these tests do not know', () => {
  expect(readdirSync(join(opsFolder, 'prometheus')).toSorted()).toEqual([
    'alerts.test.yml',
    'alerts.yml',
    'blackbox.yml',
    'prometheus.yml',
  ])
})
