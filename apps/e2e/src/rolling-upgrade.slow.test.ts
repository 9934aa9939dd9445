/** docs/upgrade.md, with a next release that has one more migration. */
import { join } from 'node:path'
import { makeNextRelease } from '@rapport/testing/migrations/next-release.ts'
import { runProcess } from '@rapport/testing/processes/processes.ts'
import { countRuns } from '@rapport/testing/runs.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { startRollingLoad } from './rolling-load.ts'
import { chooseBackends } from './stack.ts'

const next = useForFile(makeNextRelease)

test.each(chooseBackends({ gate: 'postgres' }))(
  'a rolling upgrade and a rollback fail and interrupt nothing, queues in %s',
  { timeout: 300_000 },
  async (backend) => {
    const load = await startRollingLoad(backend)
    const { env, database } = load.stack
    const early = await runProcess({
      script: join(next.directory, 'apps/cli/src/main.ts'),
      parameters: ['doctor'],
      env,
    })
    expect(early.stdout).toContain('migrations are pending')

    const migrated = await runProcess({ script: join(next.directory, 'packages/core/src/db/migrate.ts'), env })
    expect(migrated).toMatchObject({ code: 0, stdout: 'The database is up to date.\n' })
    await load.restartWorkers(next.directory)
    await load.restartApis(next.directory)
    const { rows } = await database.pool.query<{ text: string }>(
      'select distinct of_next_release as text from contacts',
    )
    expect(rows).toEqual([{ text: '' }])

    // At the gate, the other API stays on the next release: both serve the same database.
    await Promise.all([load.restartApis('', countRuns({ gate: 1, full: 2 })), load.restartWorkers()])
    expect(await load.end()).toEqual([])
  },
)
