/** `rapport migrate`, which an operator runs. */
import { randomUUID } from 'node:crypto'
import { runProcess } from '@rapport/testing/processes/processes.ts'
import { createEmptyDatabase } from '@rapport/testing/postgres/database.ts'
import { useForTest } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'

const database = useForTest(createEmptyDatabase)
const migrate = (url: string) => runProcess({ script: 'packages/core/src/db/migrate.ts', env: { DATABASE_URL: url } })

test('without the permission, it prints the error and the statement', async () => {
  const role = `guest_${randomUUID().replaceAll('-', '')}`
  await database.pool.query(`create role ${role} login password 'guest'`)
  try {
    const url = Object.assign(new URL(database.url), { username: role, password: 'guest' })
    const { code, stderr } = await migrate(url.href)
    expect(stderr).toMatch(/^permission denied for .*\nThe statement:\s+create /i)
    expect(code).toBe(1)
  } finally {
    await database.pool.query(`drop role ${role}`)
  }
})

test('without a server, it names each address that it tried', async () => {
  const { code, stderr } = await migrate('postgres://rapport@localhost:1/rapport')
  expect(stderr).toContain('connect ECONNREFUSED 127.0.0.1:1')
  expect(code).toBe(1)
})
