/** Programs that tests need: found on the PATH, or unpacked from a Debian package. */
import { execFile } from 'node:child_process'
import { access, chmod, constants, mkdir, mkdtemp, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { basename, delimiter, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { inheritedEnvironment } from '@rapport/core/runtime/config.ts'

const run = promisify(execFile)
/** For what takes long to make and stays the same between runs. It may not exist. */
export const cacheDirectory = resolve(import.meta.dirname, '../../../../node_modules/.cache/rapport')

export interface DebianPackage {
  name: string
  /** Path of the program in the package, such as `usr/bin/redis-server`. */
  program: string
  /** Paths of further programs. Each gets a launcher beside that of `program`, named as its file. */
  otherPrograms?: string[]
  /** The parameter with which the program only shows its version (default: --version). */
  versionParameter?: string
  /** Additional library folders in the package, as shell patterns. */
  libraries?: string[]
  /** Shell lines to run before the program; `$here` is the folder of the unpacked package. */
  preparation?: string[]
  /** Additional files to write into the folder of the unpacked package. */
  files?: Record<string, string>
}

/** Returns the path of the first of these programs (names or paths) that runs on this machine. */
export async function findProgram(programs: string[], versionParameter?: string): Promise<string | undefined> {
  for (const program of programs) {
    const path = program.includes('/') ? program : await findOnPath(program)
    if (path && (await runs(path, versionParameter))) return path
  }
  return undefined
}

/**
 * Unpacks a package and its missing dependencies into node_modules/.cache. Needs no root and changes nothing else on
 * the machine. Returns the path of the program; later calls find it in the cache. Undefined on a machine without
 * Debian's tools.
 */
export function unpackDebianPackage(wanted: DebianPackage): Promise<string | undefined> {
  return shareWhileRunning(wanted.name, () => unpackOnce(wanted))
}

async function unpackOnce(wanted: DebianPackage): Promise<string | undefined> {
  const { name, versionParameter, otherPrograms = [] } = wanted
  const folder = join(cacheDirectory, name)
  const launcher = join(folder, name)
  const isUnpacked = async () => {
    const programs = [launcher, ...otherPrograms.map((program) => join(folder, basename(program)))]
    return (await Promise.all(programs.map((program) => runs(program, versionParameter)))).every(Boolean)
  }
  if (await isUnpacked()) return launcher
  if (!(await findOnPath('apt-get')) || !(await findOnPath('dpkg-deb'))) return undefined
  console.log(`${name} is not on the PATH: downloading its Debian package into node_modules/.cache.`)
  await mkdir(cacheDirectory, { recursive: true })
  const work = await mkdtemp(join(cacheDirectory, 'unpack-'))
  try {
    const root = await unpack(name, work)
    await writeLauncher(join(root, name), wanted)
    for (const program of otherPrograms) await writeLauncher(join(root, basename(program)), { ...wanted, program })
    for (const [file, text] of Object.entries(wanted.files ?? {})) await writeFile(join(root, file), text)
    // A concurrent run may have unpacked it first, and may be using it.
    if (!(await isUnpacked())) {
      await rm(folder, { recursive: true, force: true })
      await rename(root, folder)
    }
  } finally {
    await rm(work, { recursive: true, force: true })
  }
  if (!(await isUnpacked()))
    throw new Error(`The Debian package ${name} was downloaded, but its program does not run on this machine.`)
  return launcher
}

const running = new Map<string, Promise<unknown>>()

/** Starts the work unless the same is running. */
function shareWhileRunning<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
  const started = running.get(name) ?? work().finally(() => running.delete(name))
  running.set(name, started)
  return started as Promise<Result>
}

/** Keeps archives in `work`, and lists in the cache, so that apt needs no root and does not touch the system's state. */
async function unpack(name: string, work: string): Promise<string> {
  const [cache, root] = [join(work, 'apt'), join(work, 'root')]
  await Promise.all([join(cache, 'archives', 'partial'), root].map(makeFolder))
  const lists = await shareWhileRunning('lists of packages', findPackageLists)
  await apt({ lists, cache }, 'install', '--download-only', '--no-install-recommends', '--yes', name)
  const archives = (await readdir(join(cache, 'archives'))).filter((file) => file.endsWith('.deb'))
  // The C library must match the loader of the machine.
  for (const archive of archives.filter((file) => !file.startsWith('libc6_'))) {
    await run('dpkg-deb', ['--extract', join(cache, 'archives', archive), root])
  }
  return root
}

function apt(folders: { lists: string; cache: string }, ...parameters: string[]) {
  // Kept beside the lists, as each call would otherwise take more than a second to read them.
  const parsed = ['pkgcache', 'srcpkgcache'].map((name) => `Dir::Cache::${name}=${join(folders.lists, `${name}.bin`)}`)
  const settings = [`Dir::State::Lists=${folders.lists}`, `Dir::Cache=${folders.cache}`, ...parsed]
  const options = [...settings, 'Debug::NoLocking=1', 'APT::Sandbox::User='].flatMap((setting) => ['-o', setting])
  return run('apt-get', ['-qq', ...options, ...parameters])
}

/** Returns the folder with the lists of packages. Downloads them if they are older than an hour. */
async function findPackageLists(): Promise<string> {
  const lists = join(cacheDirectory, 'apt-lists')
  // Only an update writes into this folder.
  const age = await stat(join(lists, 'partial')).then(
    ({ mtimeMs }) => Date.now() - mtimeMs,
    () => Infinity,
  )
  if (age < 3_600_000) return lists
  const work = await mkdtemp(join(cacheDirectory, 'unpack-'))
  try {
    const [updated, cache] = [join(work, 'lists'), join(work, 'apt')]
    await Promise.all([join(updated, 'partial'), join(cache, 'archives', 'partial')].map(makeFolder))
    await apt({ lists: updated, cache }, 'update')
    await rename(lists, join(work, 'former')).catch(() => {})
    // A concurrent download may have been faster.
    await rename(updated, lists).catch(() => {})
  } finally {
    await rm(work, { recursive: true, force: true })
  }
  return lists
}

/** `exec` keeps the pid, so that signals reach the program itself. */
async function writeLauncher(path: string, wanted: DebianPackage): Promise<void> {
  const { program, libraries = [], preparation = [] } = wanted
  const folders = ['usr/lib/*-linux-*', 'lib/*-linux-*', ...libraries].map((folder) => `"$here"/${folder}`)
  const script = `#!/bin/sh
here=\${0%/*}
libraries=$LD_LIBRARY_PATH
for folder in ${folders.join(' ')}; do libraries="$folder\${libraries:+:$libraries}"; done
${preparation.map((line) => `${line}\n`).join('')}\
LD_LIBRARY_PATH=$libraries exec "$here/${program}" "$@"
`
  await writeFile(path, script)
  await chmod(path, 0o755)
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

async function runs(program: string, versionParameter = '--version'): Promise<boolean> {
  return run(program, [versionParameter]).then(
    () => true,
    () => false,
  )
}

async function makeFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true })
}
