/** A stack that a real Prometheus reads, with the configuration of ops/ and the exporters that it names. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findFreePort } from '@rapport/embedded-postgres/free-port.ts'
import { goodCertificate, testKey } from '@rapport/testing/network/certificates.ts'
import type { MonitoringPrograms } from '@rapport/testing/processes/monitoring-programs.ts'
import { startCommand } from '@rapport/testing/processes/processes.ts'
import { type Stack, startStack } from '../stack.ts'
import { opsFolder, readPrometheusConfig } from './ops-files.ts'

const token = 'known-to-prometheus-alone'

export interface MonitoredStack {
  stack: Stack
  /** The address of Prometheus. */
  url: string
  close(): Promise<void>
}

/** Starts an API, a worker, an HTTPS server in the place of PUBLIC_URL, the exporters and Prometheus. */
export async function startMonitoredStack(programs: MonitoringPrograms): Promise<MonitoredStack> {
  const folder = await mkdtemp(join(tmpdir(), 'rapport-prometheus-'))
  const write = async (name: string, text: string) => {
    await writeFile(join(folder, name), text)
    return join(folder, name)
  }
  const [workerPort, nodePort, blackboxPort, port] = await Promise.all([1, 2, 3, 4].map(() => findFreePort()))
  const stack = await startStack('redis', { METRICS_TOKEN: token, WORKER_PORT: String(workerPort) })
  const site = createServer({ key: testKey, cert: goodCertificate }, (_request, response) => response.end('ok'))
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve))
  const publicUrl = `https://127.0.0.1:${(site.address() as AddressInfo).port}/health`

  const targets: Record<string, string> = {
    'rapport-api': new URL(stack.api.url).host,
    'rapport-worker': `127.0.0.1:${workerPort}`,
    node: `127.0.0.1:${nodePort}`,
    'public-url': publicUrl,
  }
  const credentials_file = await write('token', token)
  const config = readPrometheusConfig()
  const jobs = config.scrape_configs.map((job) => ({
    ...job,
    ...(job.authorization && { authorization: { credentials_file } }),
    static_configs: [{ targets: [targets[job.job_name]] }],
  }))
  const settings = {
    global: { ...config.global, scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: [join(opsFolder, 'prometheus', 'alerts.yml')],
    scrape_configs: jobs,
  }
  // JSON is YAML. The address of the blackbox exporter is in a relabeling rule.
  const configFile = await write(
    'prometheus.yml',
    JSON.stringify(settings).replace('127.0.0.1:9115', `127.0.0.1:${blackboxPort}`),
  )

  const started = await Promise.all([
    startCommand({
      command: programs.nodeExporter,
      parameters: [`--web.listen-address=127.0.0.1:${nodePort}`],
      readyUrl: `http://127.0.0.1:${nodePort}/`,
    }),
    startCommand({
      command: programs.blackboxExporter,
      parameters: [
        `--config.file=${join(opsFolder, 'prometheus', 'blackbox.yml')}`,
        `--web.listen-address=127.0.0.1:${blackboxPort}`,
      ],
      env: { SSL_CERT_FILE: await write('certificate', goodCertificate) },
      readyUrl: `http://127.0.0.1:${blackboxPort}/`,
    }),
    startCommand({
      command: programs.prometheus,
      parameters: [
        `--config.file=${configFile}`,
        `--storage.tsdb.path=${join(folder, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
      ],
      readyUrl: `http://127.0.0.1:${port}/-/ready`,
    }),
  ])
  return {
    stack,
    url: `http://127.0.0.1:${port}`,
    async close() {
      for (const process of started) process.kill()
      await Promise.all(started.map(({ exited }) => exited))
      site.closeAllConnections()
      await new Promise((resolve) => site.close(resolve))
      await stack.close()
      await rm(folder, { recursive: true })
    },
  }
}
