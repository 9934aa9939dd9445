/** Prometheus, Alertmanager and the exporters, for the tests of ops/: on the PATH, or unpacked from Debian packages. */
import { basename, dirname, join } from 'node:path'
import { findProgram, unpackDebianPackage } from './debian-package.ts'

/** Names on the PATH: those of the projects, and those of Debian. */
const programs = {
  prometheus: { names: ['prometheus'], package: 'prometheus' },
  promtool: { names: ['promtool'], package: 'prometheus' },
  alertmanager: { names: ['alertmanager', 'prometheus-alertmanager'], package: 'prometheus-alertmanager' },
  amtool: { names: ['amtool'], package: 'prometheus-alertmanager' },
  nodeExporter: { names: ['node_exporter', 'prometheus-node-exporter'], package: 'prometheus-node-exporter' },
  blackboxExporter: {
    names: ['blackbox_exporter', 'prometheus-blackbox-exporter'],
    package: 'prometheus-blackbox-exporter',
  },
} as const

/** Programs of a package that are not named as the package. */
const otherPrograms: Record<string, string[]> = {
  prometheus: ['usr/bin/promtool'],
  'prometheus-alertmanager': ['usr/bin/amtool'],
}

export type MonitoringPrograms = Record<keyof typeof programs, string>

/** Returns the paths of all programs. Undefined if one is neither installed nor can be unpacked. */
export async function findMonitoringPrograms(): Promise<MonitoringPrograms | undefined> {
  const found: Partial<MonitoringPrograms> = {}
  for (const [program, { names, package: name }] of Object.entries(programs)) {
    const path = (await findProgram([...names])) ?? (await unpack(name, names.at(-1) ?? name))
    if (path === undefined) {
      console.log(`Tests with Prometheus are skipped: ${names[0]} is not on the PATH and cannot be unpacked here.`)
      return undefined
    }
    found[program as keyof MonitoringPrograms] = path
  }
  return found as MonitoringPrograms
}

async function unpack(name: string, program: string): Promise<string | undefined> {
  const wanted = { name, program: `usr/bin/${name}`, otherPrograms: otherPrograms[name] ?? [] }
  const main = await unpackDebianPackage(wanted)
  return main && join(dirname(main), basename(program))
}
