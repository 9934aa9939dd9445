/** The commands that list workspaces and API keys. */
import { createApiKey } from '@rapport/core/auth/api-keys.ts'
import { createTestCtx } from '@rapport/testing/fixtures/factories.ts'
import { runProcess } from '@rapport/testing/processes/processes.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { keyList } from './commands/key/list.ts'
import { workspaceList } from './commands/workspace/list.ts'
import { missingDirectory, startInProcess, unreachableEnvironment } from './testing.ts'

const database = useTestDatabase()
const { PUBLIC_URL, SECRET_KEY, MAIL_FROM } = unreachableEnvironment

async function run(command: Parameters<typeof startInProcess>[0], options: Record<string, unknown>) {
  const environment = { DATABASE_URL: database.url, PUBLIC_URL, SECRET_KEY, MAIL_FROM }
  const { printed, code } = startInProcess(command, options, { environment })
  expect(await code).toBe(0)
  return printed.join('\n')
}

test('workspace list prints each workspace with its figures, oldest first', async () => {
  const [first, second] = [await createTestCtx(database.db), await createTestCtx(database.db)]
  const lines = (await run(workspaceList, { sort: 'createdAt', json: false })).split('\n')
  expect(lines[0]).toMatch(/^id +created +suspended +contacts +emails .* name$/)
  expect(lines.slice(1).map((line) => line.split(' ')[0])).toEqual([first.workspaceId, second.workspaceId])
  const { data } = JSON.parse(await run(workspaceList, { sort: 'createdAt', json: true })) as { data: object[] }
  expect(data[0]).toMatchObject({
    id: first.workspaceId,
    suspendedAt: null,
    contacts: 0,
    mails: 0,
    hardBounceRate: null,
  })
})

test('key list prints all keys of the workspace, and no secret', async () => {
  const [ctx, other] = [await createTestCtx(database.db), await createTestCtx(database.db)]
  const create = (name: string, of = ctx) => createApiKey(of, { name, role: 'MEMBER', rights: null, expiresAt: null })
  const keys = []
  for (let count = 0; count < 101; count++) keys.push(await create(`Site ${count}`))
  const foreign = await create('Other', other)
  const printed = await run(keyList, { workspace: ctx.workspaceId, json: false })
  expect(printed.split('\n')[0]).toMatch(/^id +key +role +rights +last used +expires +name$/)
  expect(
    printed
      .split('\n')
      .slice(1)
      .map((line) => line.split(' ')[0]),
  ).toEqual(keys.map(({ id }) => id).toReversed())
  const json = await run(keyList, { workspace: ctx.workspaceId, json: true })
  for (const output of [printed, json]) {
    expect(output).not.toContain(foreign.id)
    for (const { key } of keys) expect(output).not.toContain(key)
  }
})

test('an error that a command finds in its options ends with the hint at its help', { timeout: 60_000 }, async () => {
  const { stderr, code } = await runProcess({
    script: 'apps/cli/src/main.ts',
    parameters: ['import'],
    env: { DATA_DIR: missingDirectory },
  })
  expect(code).toBe(2)
  expect(stderr).toBe(
    'rapport: exactly one of <file> and --follow is required\n         See "rapport import --help".\n',
  )
})
