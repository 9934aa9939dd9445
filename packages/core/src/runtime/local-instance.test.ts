import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { afterAll, expect, test } from 'vitest'
import { describeInstallation, findLocalInstance, localFileOf, withLocalAddresses } from './local-instance.ts'

const directory = mkdtempSync(`${tmpdir()}/rapport-local-`)
afterAll(() => rmSync(directory, { recursive: true }))

const environment = { DATABASE_URL: 'postgres://local/rapport', SECRET_KEY: 'local key', PORT: '3000' }
const local = { apiUrl: 'http://localhost:3000', apiKey: 'rpk_local', environment }

test('completes an environment with the addresses of the local installation', () => {
  expect(withLocalAddresses({ PATH: '/bin', DATABASE_URL: '' }, local)).toEqual({ PATH: '/bin', ...environment })
  expect(withLocalAddresses({ PORT: '3000' }, local)).toEqual(environment)
  expect(withLocalAddresses({ PATH: '/bin' }, undefined)).toEqual({ PATH: '/bin' })
})

test('finds the running installation, and none if the file is missing or invalid', async () => {
  expect(await findLocalInstance({ DATA_DIR: directory })).toBeUndefined()
  writeFileSync(localFileOf(directory), '{"running":')
  expect(await findLocalInstance({ DATA_DIR: directory })).toBeUndefined()
  writeFileSync(localFileOf(directory), JSON.stringify({ secretKey: 'x', running: local }))
  expect(await findLocalInstance({ DATA_DIR: directory, PORT: '3000', SMTP_URL: '' })).toEqual(local)
})

test.each([
  { DATABASE_URL: 'postgres://elsewhere/rapport' },
  { SECRET_KEY: 'another' },
  { REDIS_URL: 'redis://elsewhere' },
])('finds none for an environment of another installation: %o', async (given) => {
  writeFileSync(localFileOf(directory), JSON.stringify({ running: local }))
  expect(await findLocalInstance({ DATA_DIR: directory, ...given })).toBeUndefined()
})

test('describes an installation by its addresses and what commands check and show', () => {
  const checked = { RETURN_PATH_DOMAIN: 'bounces.example.com', DNS_SERVER: '127.0.0.1:53' }
  const shown = { SIGN_UP: 'closed', QUOTA_CONTACTS: '500' }
  const other = { DASHBOARD_PASSWORD: 'secret', PATH: '/bin', REDIS_URL: '' }
  expect(describeInstallation({ ...environment, ...checked, ...shown, ...other })).toEqual({
    ...environment,
    ...checked,
    ...shown,
  })
})

test('a name server in the environment overrides that of the local installation', () => {
  const described = { ...local, environment: { ...environment, DNS_SERVER: '127.0.0.1:53' } }
  expect(withLocalAddresses({ DNS_SERVER: '' }, described)).toEqual(described.environment)
  const given = { DNS_SERVER: '127.0.0.1:5353' }
  expect(withLocalAddresses(given, described)).toEqual({ ...environment, ...given })
})
