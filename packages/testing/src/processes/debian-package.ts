/** Programs that tests need and this machine may lack: found on the PATH, or unpacked from Debian's package of them. */
import { execFile } from 'node:child_process'
import { access, chmod, constants, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { delimiter, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { inheritedEnvironment } from '@rapport/core/runtime/config.ts'

const run = promisify(execFile)
const cacheDirectory = resolve(import.meta.dirname, '../../../../node_modules/.cache/rapport')

export interface DebianPackage {
  name: string
  /** The program within the package, such as `usr/bin/redis-server`. */
  program: string
  /** Folders with libraries beside the usual ones, as the shell spells them. */
  libraries?: string[]
  /** Lines of the shell that go before the program; `$here` is the folder that the package lies in. */
  preparation?: string[]
  /** Files of ours to put beside what the package brings. */
  files?: Record<string, string>
}

/** The first of these programs, names or whole paths, that is here and runs. */
export async function findProgram(programs: string[]): Promise<string | undefined> {
  for (const program of programs) {
    const path = program.includes('/') ? program : await findOnPath(program)
    if (path && (await runs(path))) return path
  }
  return undefined
}

/**
 * Unpacks a package and what it depends on that is not installed into node_modules/.cache, which leaves the machine as
 * it is and needs no root, and answers with the path of its program. The second time it is there already. Undefined on
 * a machine without Debian's tools.
 */
export async function unpackDebianPackage(wanted: DebianPackage): Promise<string | undefined> {
  const { name } = wanted
  const folder = join(cacheDirectory, name)
  const launcher = join(folder, name)
  if (await runs(launcher)) return launcher
  if (!(await findOnPath('apt-get')) || !(await findOnPath('dpkg-deb'))) return undefined
  console.log(`No ${name} on the PATH: fetching the package into node_modules/.cache, once.`)
  await mkdir(cacheDirectory, { recursive: true })
  const work = await mkdtemp(join(cacheDirectory, 'unpack-'))
  try {
    const root = await unpack(name, work)
    await writeLauncher(join(root, name), wanted)
    for (const [file, text] of Object.entries(wanted.files ?? {})) await writeFile(join(root, file), text)
    // Another run may have been quicker, and be using it.
    if (!(await runs(launcher))) {
      await rm(folder, { recursive: true, force: true })
      await rename(root, folder)
    }
  } finally {
    await rm(work, { recursive: true, force: true })
  }
  if (!(await runs(launcher))) throw new Error(`Debian's package ${name} was fetched, but does not run here.`)
  return launcher
}

/** Package lists and archives live in a folder of our own too, so that neither root nor the machine's apt is needed. */
async function unpack(name: string, work: string): Promise<string> {
  const [lists, cache, root] = [join(work, 'lists'), join(work, 'apt'), join(work, 'root')]
  await Promise.all([join(lists, 'partial'), join(cache, 'archives', 'partial'), root].map(makeFolder))
  const settings = [`Dir::State::Lists=${lists}`, `Dir::Cache=${cache}`, 'Debug::NoLocking=1', 'APT::Sandbox::User=']
  const options = ['-qq', ...settings.flatMap((setting) => ['-o', setting])]
  await run('apt-get', [...options, 'update'])
  await run('apt-get', [...options, 'install', '--download-only', '--no-install-recommends', '--yes', name])
  const archives = (await readdir(join(cache, 'archives'))).filter((file) => file.endsWith('.deb'))
  // The C library fits the machine's own loader and no other.
  for (const archive of archives.filter((file) => !file.startsWith('libc6_'))) {
    await run('dpkg-deb', ['--extract', join(cache, 'archives', archive), root])
  }
  return root
}

/** `exec` keeps the process number, so that signals reach the program itself. */
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

async function runs(program: string): Promise<boolean> {
  return run(program, ['--version']).then(
    () => true,
    () => false,
  )
}

async function makeFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true })
}
