import { Resolver } from 'node:dns/promises'
import { connect } from 'node:net'
import { transaction } from '@rapport/core/db/transaction.ts'
import { limitInTurns } from '@rapport/core/kernel/concurrency/limit-in-turns.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { takeOutsideWaits } from '@rapport/testing/network/outside-waits-patch.ts'
import Fastify from 'fastify'
import { request } from 'undici'
import { expect, test } from 'vitest'

const database = useTestDatabase()
const resolver = new Resolver({ timeout: 1, tries: 1 })
resolver.setServers(['127.0.0.1:1'])

const inTurn = limitInTurns(1, { maxWaitMs: 1_000, message: 'busy' })
const outside = {
  DNS: () => resolver.resolveTxt('example.com'),
  HTTP: () => request('http://127.0.0.1:1'),
  'a server': () => new Promise((resolve) => connect(1, '127.0.0.1').on('error', resolve)),
}

test.each(Object.entries(outside))('notices that a transaction awaits %s', async (what, wait) => {
  await transaction(database.db, async (db) => {
    await db.execute('select 1')
    await wait().catch(() => {})
  })
  expect(takeOutsideWaits()).toContain(`work awaits ${what} within a transaction`)
})

test.each(Object.entries(outside))('%s may be awaited before, between and after transactions', async (_what, wait) => {
  await wait().catch(() => {})
  for (let time = 0; time < 2; time++) {
    await transaction(database.db, (db) => db.execute('select 1'))
    await wait().catch(() => {})
  }
  await transaction(database.db, () => Promise.reject(new Error('rolled back'))).catch(() => {})
  await wait().catch(() => {})
  expect(takeOutsideWaits()).toEqual([])
})

test.each<[string, () => Promise<unknown>]>([
  ['DNS', outside.DNS],
  ['its turn', () => inTurn('a', () => Promise.resolve())],
])('names the route that awaits %s', async (what, wait) => {
  const app = Fastify()
  app.post('/domains/:id/verify', () =>
    transaction(database.db, async () => {
      await wait().catch(() => {})
      return {}
    }),
  )
  await app.inject({ method: 'POST', url: '/domains/1/verify' })
  expect(takeOutsideWaits()).toEqual([`POST /domains/:id/verify awaits ${what} within a transaction`])
  await app.close()
})
