import { readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { build } from 'tsdown'

const sdk = resolve(import.meta.dirname, '..')

export interface Manifest {
  name: string
  version: string
  dependencies?: object
  exports: object
  publishConfig: { exports: object }
}

/** Writes the package into the folder, as `pnpm pack` does. */
export async function buildPackage(folder: string): Promise<Manifest> {
  const { publishConfig, ...rest } = JSON.parse(await readFile(join(sdk, 'package.json'), 'utf8')) as Manifest
  const manifest = { ...rest, publishConfig, exports: publishConfig.exports }
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest))
  await build({ cwd: sdk, outDir: join(folder, 'dist'), logLevel: 'silent' })
  return manifest
}
