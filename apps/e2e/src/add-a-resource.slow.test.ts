/** Follows docs/add-a-resource.md in a copy of the repository. */
import { join } from 'node:path'
import { createEmptyDatabase } from '@rapport/testing/postgres/database.ts'
import { findFreePort } from '@rapport/embedded-postgres/free-port.ts'
import { startProcess } from '@rapport/testing/processes/processes.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, inject, onTestFinished, test } from 'vitest'
import { type Copy, copyRepository, readRecipe } from './recipe.ts'
import { type Api, createApi } from './stack.ts'

/** The tests to run in the copy: the test of the slice, and the tests that cover every table and route. */
const tests = [
  'packages/core/src/gifts',
  'packages/core/src/operations/contacts/contact-records',
  'packages/core/src/db/schema/tenancy',
  'packages/testing/src/conventions/table-owners',
  'apps/api/test/isolation.int',
]
const copy = useForFile(() => copyRepository(tests))
const mergesAndDeletions = 'packages/core/src/operations/contacts/contact-records.ts'
const typeCheck = 'tsc --noEmit --incremental --tsBuildInfoFile .tsbuildinfo --pretty false'

test('the recipe names at most twelve files', async () => {
  const paths = new Set((await readRecipe()).map(({ path }) => path))
  expect(paths.size).toBeGreaterThan(5)
  expect(paths.size).toBeLessThanOrEqual(12)
})

test('does not compile if merging and deleting contacts ignore the new resource', async () => {
  const edits = await readRecipe()
  for (const edit of edits.filter(({ path }) => path !== mergesAndDeletions)) await copy.apply(edit)
  const { code, output } = await copy.run(typeCheck)
  expect([code, output.match(/^\S+(?=\(\d+,\d+\): error)/gm)]).toEqual([expect.any(Number), [mergesAndDeletions]])
  expect(output).toContain(`'gifts'`)
  for (const edit of edits.filter(({ path }) => path === mergesAndDeletions)) await copy.apply(edit)
})

test('with the recipe applied, the types, format, migration and tests pass', async () => {
  const paths = (await readRecipe()).map(({ path }) => path)
  await expectSuccess(typeCheck)
  await expectSuccess(`biome format --vcs-enabled=false ${paths.join(' ')}`)
  await expectSuccess('node packages/testing/src/migrations/remake-migration.ts')
  const { postgresUrl, redisUrl } = inject('testServices')
  await expectSuccess(`vitest run --maxWorkers=1 ${tests.join(' ')}`, {
    DATABASE_URL: postgresUrl,
    REDIS_URL: redisUrl,
  })
})

test('the resource of the recipe is created, read, changed and deleted over HTTP', async () => {
  const api = await startApiOf(copy)
  const { key } = await api.createWorkspace()
  const contact = await api.call<{ id: string }>('POST', '/contacts', { key, body: { email: 'ada@example.com' } })
  const gifts = `/contacts/${contact.body.id}/gifts`
  const created = await api.call<{ id: string }>('POST', gifts, { key, body: { item: 'A fountain pen' } })
  expect(created).toMatchObject({ status: 201, body: { contactId: contact.body.id, item: 'A fountain pen' } })
  const gift = `/gifts/${created.body.id}`
  const changed = await api.call('PATCH', gift, { key, body: { item: 'A teapot' } })
  expect(changed).toMatchObject({ status: 200, body: { item: 'A teapot' } })
  expect(await api.call('GET', gift, { key })).toMatchObject({ status: 200, body: changed.body })
  expect(await api.call('GET', gifts, { key })).toMatchObject({ status: 200, body: { data: [changed.body] } })
  expect(await api.call('DELETE', gift, { key })).toMatchObject({ status: 204 })
  expect(await api.call('GET', gift, { key })).toMatchObject({ status: 404, body: { message: 'Gift not found' } })

  const listEvents = async () =>
    (await api.call<{ data: { type: string; data: unknown }[] }>('GET', '/events', { key })).body.data
  await expect.poll(listEvents).toContainEqual(expect.objectContaining({ type: 'gift.created', data: created.body }))
  const { body: description } = await api.call<{ paths: Record<string, object> }>('GET', '/openapi.json')
  expect(Object.keys(description.paths)).toEqual(expect.arrayContaining(['/gifts/{id}', '/contacts/{contactId}/gifts']))
})

async function expectSuccess(command: string, env?: Record<string, string>): Promise<void> {
  const { code, output } = await copy.run(command, env)
  expect([command, code, code === 0 ? '' : output]).toEqual([command, 0, ''])
}

/** Starts the API of the copy on a database with its migration. */
async function startApiOf({ directory, run }: Copy): Promise<Api> {
  const database = await createEmptyDatabase()
  const port = await findFreePort()
  const url = `http://127.0.0.1:${port}`
  const env = {
    DATABASE_URL: database.url,
    PORT: String(port),
    PUBLIC_URL: url,
    MAIL_FROM: 'hello@rapport.example',
    SECRET_KEY: 'for tests only: forty characters or more of it',
    TRUST_PROXY: 'loopback',
  }
  expect(await run('node packages/core/src/db/migrate.ts', env)).toMatchObject({ code: 0 })
  const api = await startProcess({ script: join(directory, 'apps/api/src/main.ts'), env, readyUrl: `${url}/ready` })
  onTestFinished(async () => {
    api.kill('SIGTERM')
    await api.exited
    await database.close()
  })
  return createApi(url)
}
