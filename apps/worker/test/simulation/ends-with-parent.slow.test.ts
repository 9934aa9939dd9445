import { existsSync, globSync } from 'node:fs'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startProcess } from '@rapport/testing/processes/processes.ts'
import { countRuns } from '@rapport/testing/runs.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { onTestFinished, test } from 'vitest'

/** The end of the process is noticed in the same way after each. Nothing of it can run after the first. */
const signals = (['SIGKILL', 'SIGTERM', 'SIGINT'] as const).slice(0, countRuns({ gate: 1, full: 3 }))

test.each(signals)('a simulation ends with its databases: %s', async (signal) => {
  const folder = await mkdtemp(join(tmpdir(), 'rapport-ended-simulation-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  // PostgreSQL runs as another user when the tests run as root.
  await chmod(folder, 0o755)
  const databases = () => globSync(join(folder, 'rapport-simulation-*'))
  const simulation = await startProcess({
    script: 'apps/worker/test/simulation/main.ts',
    parameters: ['--seeds', '10000'],
    env: { TMPDIR: folder },
  })
  // The last line of the file says that the server accepts connections.
  const isReady = async (path: string) =>
    (await readFile(join(path, 'data/postmaster.pid'), 'utf8').catch(() => '')).trim().endsWith('ready')
  const areAllReady = async () => (await Promise.all(databases().map(isReady))).filter(Boolean).length > 1
  await waitUntil(areAllReady, { describe: () => `two servers run in ${folder}: ${databases().join(', ')}` })
  const pids = await Promise.all(
    databases().map(async (path) => Number.parseInt(await readFile(join(path, 'data/postmaster.pid'), 'utf8'))),
  )
  simulation.kill(signal)
  await waitUntil(() => databases().length === 0, {
    describe: () => `the databases are gone: ${databases().join(', ')}`,
  })
  // A process that has ended has no program, also if init has not read its exit code yet.
  const isRunning = (pid: number) => existsSync(`/proc/${pid}/exe`)
  await waitUntil(() => !pids.some(isRunning), { describe: `the servers ${pids.join(', ')} have ended` })
})
