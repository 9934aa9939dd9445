import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import type { TestedGuard } from './tested-guard.ts'
import { removeGuard } from './remove-guard.ts'

const run = promisify(execFile)
const root = resolve(import.meta.dirname, '../../../..')

/** How the tests of a copy ended. */
export interface TestResult {
  passed: number
  /** The titles of failed tests, or else the paths of files that failed for another reason. */
  failed: string[]
  /** The first line of why each failed. */
  reasons: string[]
}

/** A copy of the project in which a guard can be missing, so that the work tree never has a broken file. */
export interface ProjectCopy {
  /** Runs tests. */
  test(tests: readonly string[]): Promise<TestResult>
  /** Runs the tests of a guard without it. */
  testWithout(guard: TestedGuard): Promise<TestResult>
  close(): Promise<void>
}

/** Copies the files that Git knows or would add, as they are now, and links the installed packages. */
export async function copyProject(): Promise<ProjectCopy> {
  const folder = await mkdtemp(join(tmpdir(), 'rapport-guards-'))
  const { stdout } = await run('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'], listing)
  const { stdout: deleted } = await run('git', ['ls-files', '--deleted', '-z'], listing)
  const missing = new Set(deleted.split('\0'))
  const paths = stdout.split('\0').filter((path) => path !== '' && !missing.has(path))
  for (const path of paths) await cp(join(root, path), join(folder, path), { verbatimSymlinks: true })
  const pnpm = ['--yes', `pnpm@${await readPnpmVersion()}`, 'install', '--frozen-lockfile', '--prefer-offline']
  await run('npx', pnpm, { cwd: folder, maxBuffer })
  return {
    test: (tests) => runTests(folder, tests),
    testWithout: async (guard) => {
      const path = join(folder, guard.file)
      const source = await readFile(path, 'utf8')
      await writeFile(path, removeGuard(source, guard))
      try {
        return await runTests(folder, guard.tests)
      } finally {
        await writeFile(path, source)
      }
    },
    close: () => rm(folder, { recursive: true, force: true }),
  }
}

const maxBuffer = 64 * 1024 * 1024
const listing = { cwd: root, maxBuffer }

async function readPnpmVersion(): Promise<string> {
  const { packageManager } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
    packageManager: string
  }
  return /@([\d.]+)/.exec(packageManager)?.[1] ?? 'latest'
}

async function runTests(folder: string, tests: readonly string[]): Promise<TestResult> {
  const report = join(folder, 'guards-report.json')
  await rm(report, { force: true })
  const projects = ['unit', 'integration', ...(tests.some(isSlow) ? ['slow'] : [])]
  const options = ['--reporter=json', `--outputFile=${report}`]
  const parameters = [...tests, ...projects.flatMap((name) => ['--project', name]), ...options]
  const vitest = join(folder, 'node_modules/.bin/vitest')
  // A failed test is what is asked for.
  const failure = await run(vitest, ['run', ...parameters], { cwd: folder, maxBuffer }).then(
    () => undefined,
    (error: unknown) => error,
  )
  const text = await readFile(report, 'utf8').catch(() => {
    throw new Error('The tests did not start', { cause: failure })
  })
  const { testResults } = JSON.parse(text) as Report
  const results = testResults.flatMap((file) => file.assertionResults)
  // A check after all tests of a file, such as that of workspaces in statements, fails the file alone.
  const failedFiles = testResults.filter((file) => file.status === 'failed').map(({ name }) => name)
  const failedResults = results.filter(({ status }) => status === 'failed')
  const failedTests = failedResults.map(({ fullName }) => fullName)
  return {
    passed: results.filter(({ status }) => status === 'passed').length,
    failed: failedTests.length > 0 ? failedTests : failedFiles,
    reasons: failedResults.map(({ failureMessages }) => failureMessages[0]?.split('\n')[0] ?? ''),
  }
}

const isSlow = (path: string) => path.endsWith('.slow.test.ts')

interface Report {
  testResults: { name: string; status: string; assertionResults: TestReport[] }[]
}

interface TestReport {
  status: string
  fullName: string
  failureMessages: string[]
}
