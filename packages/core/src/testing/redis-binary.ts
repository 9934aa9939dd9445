import { execFile } from 'node:child_process'
import { chmod, constants, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { access } from 'node:fs/promises'
import { delimiter, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { inheritedEnvironment } from '../config.ts'

const run = promisify(execFile)
const cacheDirectory = resolve(import.meta.dirname, '../../../../node_modules/.cache/rapport')

const howToGetOne =
  'The tests need a Redis. Install one ("brew install redis", "apt install redis-server", "dnf install valkey"), ' +
  'or set REDIS_URL to one that the tests may fill and empty.'

/**
 * A Redis server program: redis-server or valkey-server on the PATH, else Debian's or Ubuntu's package unpacked into
 * node_modules/.cache, which leaves the machine as it is. Throws with how to get one when there is none.
 */
export async function findRedisServer(): Promise<string> {
  const installed = (await findOnPath('redis-server')) ?? (await findOnPath('valkey-server'))
  if (installed) return installed
  const cached = join(cacheDirectory, 'redis', 'redis-server')
  if (await runs(cached)) return cached
  if (!(await findOnPath('apt-get')) || !(await findOnPath('dpkg-deb'))) throw new Error(howToGetOne)
  console.log('No redis-server on the PATH: fetching the package into node_modules/.cache, once.')
  try {
    await unpackPackage()
  } catch (cause) {
    throw new Error(`${howToGetOne} Fetching the package failed: ${String(cause)}`, { cause })
  }
  if (!(await runs(cached))) throw new Error(`${howToGetOne} The package that was fetched does not run.`)
  return cached
}

/** Package lists and archives live in a folder of our own too, so that neither root nor the machine's apt is needed. */
async function unpackPackage(): Promise<void> {
  await mkdir(cacheDirectory, { recursive: true })
  const work = await mkdtemp(join(cacheDirectory, 'unpack-'))
  try {
    const [lists, cache, root] = [join(work, 'lists'), join(work, 'apt'), join(work, 'root')]
    await Promise.all([join(lists, 'partial'), join(cache, 'archives', 'partial'), root].map(makeFolder))
    const settings = [`Dir::State::Lists=${lists}`, `Dir::Cache=${cache}`, 'Debug::NoLocking=1', 'APT::Sandbox::User=']
    const options = ['-qq', ...settings.flatMap((setting) => ['-o', setting])]
    await run('apt-get', [...options, 'update'])
    const download = ['install', '--download-only', '--no-install-recommends', '--yes', 'redis-server']
    await run('apt-get', [...options, ...download])
    const archives = (await readdir(join(cache, 'archives'))).filter((name) => name.endsWith('.deb'))
    for (const name of archives) await run('dpkg-deb', ['--extract', join(cache, 'archives', name), root])
    await writeLauncher(root)
    await rm(join(cacheDirectory, 'redis'), { recursive: true, force: true })
    await rename(root, join(cacheDirectory, 'redis'))
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

/** `exec` keeps the process number, so that signals reach Redis itself. */
async function writeLauncher(root: string): Promise<void> {
  const launcher = join(root, 'redis-server')
  const script = `#!/bin/sh
here=$(dirname "$0")
for folder in "$here"/usr/lib/*-linux-* "$here"/lib/*-linux-*; do libraries="$libraries$folder:"; done
LD_LIBRARY_PATH="$libraries$LD_LIBRARY_PATH" exec "$here/usr/bin/redis-server" "$@"
`
  await writeFile(launcher, script)
  await chmod(launcher, 0o755)
}

async function findOnPath(program: string): Promise<string | undefined> {
  for (const folder of (inheritedEnvironment()['PATH'] ?? '').split(delimiter)) {
    const path = join(folder, program)
    if (folder && (await isExecutable(path))) return path
  }
  return undefined
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  )
}

async function runs(program: string): Promise<boolean> {
  return run(program, ['--version']).then(
    () => true,
    () => false,
  )
}

async function makeFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true })
}
