/** The Helm chart: linted and rendered by helm, its manifests checked against the types of the Kubernetes API. */
import { execFile } from 'node:child_process'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { version } from '@rapport/core/runtime/version.ts'
import { describe, expect, onTestFinished, test } from 'vitest'
import { readRepositoryText, root } from '../conventions/repository-texts.ts'
import { chart, everyPart, findHelm, type Manifest, renderChart, runHelm } from './helm.ts'

const helm = (await findHelm()) ?? ''

/** The package that has the types of an API group. */
function packageOf({ apiVersion }: Manifest): string {
  if (apiVersion.startsWith('keda.sh/')) return `@kubernetes-models/keda/${apiVersion}`
  if (apiVersion.startsWith('monitoring.coreos.com/')) return `@kubernetes-models/prometheus-operator/${apiVersion}`
  return `kubernetes-models/${apiVersion}`
}

// Skipped where helm is neither installed nor unpacked, as on macOS.
describe.skipIf(helm === '')('the chart', () => {
  test('passes the linter of helm', async () => {
    const output = await runHelm(helm, ['lint', '--strict', chart, '--values', everyPart])
    expect(output).toContain('1 chart(s) linted, 0 chart(s) failed')
  })

  test('renders only fields of the Kubernetes API', { timeout: 60_000 }, async () => {
    const manifests = await renderChart(helm)
    expect(manifests.length).toBeGreaterThan(15)
    // TypeScript rejects unknown fields of an object literal, missing fields, and values of another type.
    const source = manifests.map((manifest, index) => {
      const type = `I${manifest.kind}`
      const name = `import type { ${type} as T${index} } from '${packageOf(manifest)}'`
      return `${name}\nexport const manifest${index}: T${index} = ${JSON.stringify(manifest, null, 2)}`
    })
    const folder = join(root, 'packages/testing/node_modules/.cache')
    const file = join(folder, `manifests-${process.pid}.ts`)
    await mkdir(folder, { recursive: true })
    await writeFile(file, source.join('\n'))
    onTestFinished(() => rm(file))
    const options = ['--noEmit', '--ignoreConfig', '--strict', '--skipLibCheck', '--module', 'nodenext', '--types', '']
    const tsc = promisify(execFile)(join(root, 'node_modules/.bin/tsc'), [...options, file])
    const { stdout } = await tsc.catch((error: unknown) => error as { stdout: string })
    expect(stdout).toBe('')
  })

  test('names a missing value and an unknown one', async () => {
    const missing = await renderChart(helm, []).catch((error: unknown) => String(error))
    for (const name of ['/image/repository', '/existingSecret', '/config/PUBLIC_URL', '/config/MAIL_FROM'])
      expect(missing).toContain(name)
    const typo = ['--values', everyPart, '--set', 'api.replica=3', '--set', 'config.MAIL_RAT=1']
    const unknown = await renderChart(helm, typo).catch((error: unknown) => String(error))
    expect(unknown).toContain("additional properties 'replica' not allowed")
    expect(unknown).toContain("additional properties 'MAIL_RAT' not allowed")
  })

  test('a secret in the ConfigMap is rejected', async () => {
    const set = ['--values', everyPart, '--set', 'config.SECRET_KEY=secret']
    await expect(renderChart(helm, set)).rejects.toThrow("additional properties 'SECRET_KEY' not allowed")
  })

  test('a large number and a fraction reach the programs as they are', async () => {
    const set = ['--values', everyPart, '--set', 'config.OTEL_TRACES_SAMPLER_ARG=0.1']
    const config = (await renderChart(helm, set)).find(({ kind }) => kind === 'ConfigMap')
    expect(config?.data).toMatchObject({ QUOTA_CONTACTS: '12345678', OTEL_TRACES_SAMPLER_ARG: '0.1' })
  })

  test('every pod is unprivileged, has a memory limit and time to shut down', async () => {
    const text = await runHelm(helm, ['template', 'rapport', chart, '--values', everyPart])
    const count = (pattern: RegExp) => text.match(pattern)?.length
    // The API, the worker, the migration and the backup.
    expect(count(/runAsNonRoot: true/g)).toBe(4)
    expect(count(/readOnlyRootFilesystem: true/g)).toBe(4)
    expect(count(/capabilities: \{ drop: \[ALL\] \}/g)).toBe(4)
    expect(count(/memory: 1Gi/g)).toBe(4)
    expect(count(/terminationGracePeriodSeconds: 60\n/g)).toBe(2)
  })

  test('bounces reach the workers at port 25, also through the network policy', async () => {
    const manifests = await renderChart(helm)
    const find = (kind: string, name: string) =>
      manifests.find((manifest) => manifest.kind === kind && manifest.metadata.name === name)
    expect(find('Service', 'rapport-bounces')?.spec['ports']).toEqual([
      { name: 'smtp', port: 25, targetPort: 'smtp', nodePort: 30025 },
    ])
    expect(find('Service', 'rapport-bounces')?.spec['externalTrafficPolicy']).toBe('Local')
    expect(JSON.stringify(find('Deployment', 'rapport-worker'))).toContain('{"name":"smtp","containerPort":2525}')
    expect(JSON.stringify(find('Deployment', 'rapport-api'))).not.toContain('smtp')
    expect(find('NetworkPolicy', 'rapport-worker')?.spec['ingress']).toContainEqual({ ports: [{ port: 'smtp' }] })
    expect(JSON.stringify(find('NetworkPolicy', 'rapport-api'))).not.toContain('smtp')
    const unset = renderChart(helm, ['--values', everyPart, '--set', 'config.BOUNCE_PORT='])
    await expect(unset).rejects.toThrow('config.BOUNCE_PORT: is required with bounceService.enabled')
  })

  test('the migration runs first, without the ConfigMap; exit code 78 is not retried', async () => {
    const migration = (await renderChart(helm)).find(({ metadata }) => metadata.name === 'rapport-migrate')
    expect(migration?.metadata.annotations).toMatchObject({ 'helm.sh/hook': 'pre-install,pre-upgrade' })
    expect(JSON.stringify(migration)).not.toContain('configMapRef')
    const onExitCodes = { containerName: 'migrate', operator: 'In', values: [78] }
    expect(migration?.spec).toMatchObject({ podFailurePolicy: { rules: [{ action: 'FailJob', onExitCodes }] } })
  })

  test('without options there are only the programs', async () => {
    const set = ['image.repository=rapport', 'existingSecret=rapport', 'config.MAIL_FROM=hello@example.com']
    const parameters = [...set, 'config.PUBLIC_URL=https://crm.example.com'].flatMap((value) => ['--set', value])
    const kinds = (await renderChart(helm, parameters)).map(({ kind }) => kind)
    const expected = ['ConfigMap', 'Deployment', 'Job', 'PodDisruptionBudget', 'Service']
    expect([...new Set(kinds)].toSorted()).toEqual(expected)
  })
})

test('the chart has the version of the programs', () => {
  expect(readRepositoryText('ops/helm/rapport/Chart.yaml')).toContain(`version: ${version}\nappVersion: ${version}\n`)
})
