import { createTestDatabase, openTransaction } from '@rapport/testing/postgres/database.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, onTestFinished, test } from 'vitest'
import { startTestApi } from '../../test/testing.ts'

const api = useForFile(() => startTestApi())

test.each(['text/html,application/xhtml+xml,*/*;q=0.8', '*/*', ''])('GET / for "%s" is a page', async (accept) => {
  const page = await api.call('GET', '/?utm_source=mail', { headers: { accept } })
  expect(page).toMatchObject({ status: 200, headers: { 'content-type': 'text/html; charset=utf-8' } })
  expect(page.headers['vary']).toContain('accept')
  expect(page.text).toContain('<h1>Rapport</h1>')
  for (const line of ['Status: ready', 'Server: up', 'PostgreSQL: up', 'Redis: not used'])
    expect(page.text).toContain(line)
  const links = [...page.text.matchAll(/href="([^"]+)"/g)].map(([, href = '']) => href)
  expect(links).toEqual(['docs/', 'docs/reference', 'openapi.json', 'openapi.json?version=3.0'])
  for (const link of links) expect((await api.call('GET', `/${link}`)).status).toBe(200)
})

test('a client that accepts only JSON gets JSON', async () => {
  const home = await api.call('GET', '/', { headers: { accept: 'application/json' } })
  expect(home).toMatchObject({ status: 200, headers: { 'content-type': 'application/json; charset=utf-8' } })
  expect(home.body).toEqual({
    name: 'Rapport',
    version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
    status: 'ready',
    parts: { database: 'up', redis: 'not used', server: 'up' },
    guidesUrl: 'https://crm.example.com/docs/',
    referenceUrl: 'https://crm.example.com/docs/reference',
    openApiUrl: 'https://crm.example.com/openapi.json',
  })
})

test('HEAD has no body', async () => {
  const head = await api.call('HEAD', '/')
  expect([head.status, head.text, head.headers['content-type']]).toEqual([200, '', 'text/html; charset=utf-8'])
})

test('while PostgreSQL does not respond, the page says so', async () => {
  const database = await createTestDatabase()
  const stuck = await startTestApi({ database })
  onTestFinished(() => stuck.close())
  const lockHolder = await openTransaction(database.db, (transaction) =>
    transaction.execute('lock table drizzle.__drizzle_migrations in access exclusive mode'),
  )
  onTestFinished(() => lockHolder.commit())
  const page = await stuck.call('GET', '/', { headers: { accept: 'text/html' } })
  expect(page.status).toBe(200)
  expect(page.text).toContain('Status: unavailable')
  expect(page.text).toContain('PostgreSQL: down')
})
