/** Applies docs/add-a-resource.md to a copy of the repository. */
import { cp, mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { goSettings } from '@rapport/testing/processes/go-environment.ts'
import { startCommand } from '@rapport/testing/processes/processes.ts'
import { isFullRun } from '@rapport/testing/runs.ts'

const root = resolve(import.meta.dirname, '../../..')

/** A file to add, or a diff that adds lines to a file. */
interface Edit {
  path: string
  language: 'ts' | 'diff'
  text: string
}

/** Reads the code blocks of the document with the paths from their headings. */
export async function readRecipe(): Promise<Edit[]> {
  const text = await readFile(join(root, 'docs/add-a-resource.md'), 'utf8')
  const sections = text.matchAll(/^### `(\S+)`\n([^]*?)(?=^#{2,3} |$(?![^]))/gm)
  return [...sections].flatMap(([, path = '', section = '']) =>
    [...section.matchAll(/^```(ts|diff)\n([^]*?)^```$/gm)].map(([, language, text = '']) => ({
      path,
      language: language as Edit['language'],
      text,
    })),
  )
}

export interface Copy {
  directory: string
  apply: (edit: Edit) => Promise<void>
  /** Runs a command of the workspace in the copy, with one thread for tsc. Returns its exit code and what it printed. */
  run: (command: string, env?: Record<string, string>) => Promise<{ code: number | null; output: string }>
  close: () => Promise<void>
}

/** Paths to copy. Other apps are omitted to keep the type check fast. */
const copied = [
  'apps/api',
  'docs',
  'packages',
  'drizzle',
  'package.json',
  'tsconfig.json',
  'biome.json',
  'vitest.config.ts',
]

/**
 * Copies core and the API with only these tests, and links the installed packages. At the gate, `tsc` reads what the API
 * and these tests import, which takes half the time.
 */
export async function copyRepository(tests: readonly string[]): Promise<Copy> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'rapport-recipe-')))
  const filter = (path: string) => !path.endsWith('.test.ts') || tests.some((test) => path.includes(test))
  for (const name of [...copied, 'vitest.workspace.ts']) {
    await cp(join(root, name), join(directory, name), { recursive: true, verbatimSymlinks: true, filter })
  }
  await linkPackages(directory)
  if (!isFullRun) await checkOnly(directory, ['apps/api/src', 'packages/testing/src/*.ts', ...tests])
  const path = `${join(root, 'node_modules/.bin')}:${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`
  return {
    directory,
    apply: (edit) => applyEdit(directory, edit),
    async run(command, env = {}) {
      const script = `cd '${directory}' && exec ${command}`
      const started = await startCommand({
        command: 'bash',
        parameters: ['-c', script],
        env: { PATH: path, ...goSettings, ...env },
      })
      const { code } = await started.exited
      return { code, output: started.stdout() + started.stderr() }
    },
    close: () => rm(directory, { recursive: true }),
  }
}

async function checkOnly(directory: string, paths: readonly string[]): Promise<void> {
  const file = join(directory, 'tsconfig.json')
  const include = JSON.stringify(paths.flatMap((path) => [path, `${path}*`]))
  const settings = await readFile(file, 'utf8')
  await writeFile(file, settings.replace(/^  "include": .+$/m, `  "include": ${include},`))
}

/** Links the installed packages, and ours to their copies. */
async function linkPackages(directory: string): Promise<void> {
  const [installed, linked] = [join(root, 'node_modules'), join(directory, 'node_modules')]
  await mkdir(join(linked, '@rapport'), { recursive: true })
  const others = (await readdir(installed)).filter((name) => name !== '@rapport')
  for (const name of others) await symlink(join(installed, name), join(linked, name))
  for (const name of await readdir(join(installed, '@rapport')))
    await symlink(join(directory, 'packages', name), join(linked, '@rapport', name))
}

async function applyEdit(directory: string, { path, language, text }: Edit): Promise<void> {
  const file = join(directory, path)
  if (language === 'ts') {
    await mkdir(dirname(file), { recursive: true })
    return writeFile(file, text, { flag: 'wx' })
  }
  const hunks = text.split(/^@@\n/m)
  const edited = hunks.reduce((content, hunk) => applyHunk(content, hunk, path), await readFile(file, 'utf8'))
  await writeFile(file, edited)
}

/** Inserts the lines that start with `+` between the other lines, which must occur in the file once. */
function applyHunk(content: string, hunk: string, path: string): string {
  const lines = hunk.split('\n').slice(0, -1)
  const textOf = (kept: readonly string[]) => kept.map((line) => `${line.slice(1)}\n`).join('')
  const parts = content.split(textOf(lines.filter((line) => !line.startsWith('+'))))
  if (parts.length !== 2) throw new Error(`${path} matches ${parts.length - 1} times:\n${hunk}`)
  return parts.join(textOf(lines))
}
