import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { afterAll, expect, test } from 'vitest'
import { addressesIn, findLocalInstance, localFileOf, withLocalAddresses } from './local-instance.ts'

const directory = mkdtempSync(`${tmpdir()}/rapport-local-`)
afterAll(() => rmSync(directory, { recursive: true }))

const environment = { DATABASE_URL: 'postgres://local/rapport', SECRET_KEY: 'local key', PORT: '3000' }
const local = { apiUrl: 'http://localhost:3000', apiKey: 'rpk_local', environment }

test('completes an environment with the addresses of the local installation', () => {
  expect(withLocalAddresses({ PATH: '/bin', DATABASE_URL: '' }, local)).toEqual({ PATH: '/bin', ...environment })
  expect(withLocalAddresses({ PORT: '3000' }, local)).toEqual(environment)
  expect(withLocalAddresses({ PATH: '/bin' }, undefined)).toEqual({ PATH: '/bin' })
})

test.each([
  { DATABASE_URL: 'postgres://elsewhere/rapport' },
  { SECRET_KEY: 'another' },
  { REDIS_URL: 'redis://elsewhere' },
])('does not complete an environment of another installation: %o', (given) => {
  expect(withLocalAddresses(given, local)).toEqual(given)
})

test('finds the running installation, and none if the file is missing or invalid', async () => {
  expect(await findLocalInstance({ DATA_DIR: directory })).toBeUndefined()
  writeFileSync(localFileOf(directory), '{"running":')
  expect(await findLocalInstance({ DATA_DIR: directory })).toBeUndefined()
  writeFileSync(localFileOf(directory), JSON.stringify({ secretKey: 'x', running: local }))
  expect(await findLocalInstance({ DATA_DIR: directory })).toEqual(local)
})

test('addressesIn keeps only the variables that identify an installation', () => {
  expect(addressesIn({ ...environment, DASHBOARD_PASSWORD: 'secret', PATH: '/bin', REDIS_URL: '' })).toEqual(
    environment,
  )
})
