import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { inheritedEnvironment } from '@rapport/core/runtime/config.ts'

/** Installs packages from npm into a folder, for comparisons: they are no dependencies of Rapport. */
export async function installPackages(folder: string, packages: readonly string[]): Promise<void> {
  const quiet = ['--no-audit', '--no-fund', '--ignore-scripts', '--loglevel', 'error']
  const parameters = ['install', '--prefix', folder, ...quiet, ...packages]
  const npm = spawn('npm', parameters, { cwd: folder, stdio: 'inherit', env: inheritedEnvironment() })
  const [code] = (await once(npm, 'exit')) as [number]
  if (code !== 0) throw new Error(`npm could not install ${packages.join(' and ')}: npm exited with ${code}`)
}
