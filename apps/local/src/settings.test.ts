import { readApiConfig, readWorkerConfig } from '@rapport/core/runtime/config.ts'
import { expect, test } from 'vitest'
import { completeEnvironment, databaseName, localApiUrl } from './settings.ts'

const memory = { secretKey: 's'.repeat(44), dashboardPassword: 'remembered', apiKeys: {}, processes: {} }
const ports = { api: 3001, postgres: 5433, inbox: { smtp: 1025, web: 1080 } }
const everyName = {
  HOST: '0.0.0.0',
  PORT: '8080',
  PUBLIC_URL: 'https://crm.example.com',
  DATABASE_URL: 'postgres://somebody@db.example.com/crm',
  REDIS_URL: 'redis://cache.example.com',
  SMTP_URL: 'smtp://mail.example.com',
  MAIL_FROM: 'crm@example.com',
  SECRET_KEY: 'k'.repeat(44),
  DASHBOARD_USER: 'ops',
  DASHBOARD_PASSWORD: 'their own one',
  WEBHOOK_ALLOWED_NETWORKS: '10.0.0.0/8',
  LOG_LEVEL: 'debug',
}

test('nothing that is set is overridden', () => {
  expect(completeEnvironment(everyName, ports, memory)).toEqual(everyName)
})

test('what is missing is filled in, so that both processes accept it', () => {
  const environment = completeEnvironment({}, ports, memory)
  expect(readApiConfig(environment)).toMatchObject({
    PORT: 3001,
    PUBLIC_URL: 'http://localhost:3001',
    DATABASE_URL: 'postgres://rapport@127.0.0.1:5433/rapport',
    SECRET_KEY: memory.secretKey,
    DASHBOARD_PASSWORD: 'remembered',
    WEBHOOK_ALLOWED_NETWORKS: ['127.0.0.0/8', '::1/128'],
  })
  expect(readWorkerConfig(environment)).toMatchObject({ SMTP_URL: 'smtp://127.0.0.1:1025' })
})

test('there is no Redis unless one is named', () => {
  expect(completeEnvironment({}, ports, memory)).not.toHaveProperty('REDIS_URL')
})

test('a variable that is set to nothing counts as missing', () => {
  expect(completeEnvironment({ MAIL_FROM: '', SECRET_KEY: '' }, ports, memory)).toMatchObject({
    MAIL_FROM: 'hello@rapport.localhost',
    SECRET_KEY: memory.secretKey,
  })
})

test('"any port" becomes the one that was found', () => {
  expect(completeEnvironment({ PORT: '0' }, ports, memory)).toMatchObject({ PORT: '3001' })
})

test('an API key is remembered for its database, without the password of the database', () => {
  const external = { ...ports, postgres: undefined }
  const name = databaseName({ DATABASE_URL: 'postgres://user:secret@db.example.com:6432/crm' }, external)
  expect(name).toBe('db.example.com:6432/crm')
  expect(databaseName({}, ports)).toBe('embedded')
})

test.each([
  [undefined, 'http://localhost:3001'],
  ['0.0.0.0', 'http://localhost:3001'],
  ['10.1.2.3', 'http://10.1.2.3:3001'],
  ['fd00::1', 'http://[fd00::1]:3001'],
])('with HOST %s the API is reached at %s', (host, url) => {
  expect(localApiUrl({ HOST: host }, ports)).toBe(url)
})
