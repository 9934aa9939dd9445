import { readApiConfig, readWorkerConfig } from '@rapport/core/runtime/config.ts'
import { expect, test } from 'vitest'
import { completeEnvironment, databaseName, localApiUrl } from './settings.ts'

const state = {
  secretKey: 's'.repeat(44),
  dashboardPassword: 'remembered',
  databasePassword: 'random',
  apiKeys: {},
  processes: {},
}
const ports = { api: 3001, postgres: 5433, inbox: { smtp: 1025, web: 1080 } }
const everyName = {
  HOST: '0.0.0.0',
  PORT: '8080',
  PUBLIC_URL: 'https://crm.example.com',
  DATABASE_URL: 'postgres://crm@db.example.com/crm',
  REDIS_URL: 'redis://cache.example.com',
  SMTP_URL: 'smtp://mail.example.com',
  MAIL_FROM: 'crm@example.com',
  SECRET_KEY: 'k'.repeat(44),
  DASHBOARD_USER: 'ops',
  DASHBOARD_PASSWORD: 'a password of the operator',
  WEBHOOK_ALLOWED_NETWORKS: '10.0.0.0/8',
  WEBHOOK_REFUSED_PORTS: '9000',
  LOG_LEVEL: 'debug',
}

test('keeps all variables that are set', () => {
  expect(completeEnvironment(everyName, ports, state)).toEqual(everyName)
})

test('adds missing variables, so that the API and the worker accept the environment', () => {
  const environment = completeEnvironment({}, ports, state)
  expect(readApiConfig(environment)).toMatchObject({
    PORT: 3001,
    PUBLIC_URL: 'http://localhost:3001',
    DATABASE_URL: 'postgres://rapport_app:random@127.0.0.1:5433/rapport',
    SECRET_KEY: state.secretKey,
    DASHBOARD_PASSWORD: 'remembered',
    WEBHOOK_ALLOWED_NETWORKS: ['127.0.0.0/8', '::1/128'],
  })
  expect(readWorkerConfig(environment)).toMatchObject({
    SMTP_URL: 'smtp://127.0.0.1:1025',
    WEBHOOK_REFUSED_PORTS: [3001, 5433, 1025, 1080],
  })
})

test('does not set REDIS_URL by default', () => {
  expect(completeEnvironment({}, ports, state)).not.toHaveProperty('REDIS_URL')
})

test('treats an empty variable as missing', () => {
  expect(completeEnvironment({ MAIL_FROM: '', SECRET_KEY: '' }, ports, state)).toMatchObject({
    MAIL_FROM: 'hello@rapport.localhost',
    SECRET_KEY: state.secretKey,
  })
})

test('replaces port 0 with the port that was found', () => {
  expect(completeEnvironment({ PORT: '0' }, ports, state)).toMatchObject({ PORT: '3001' })
})

test('identifies a database without its password', () => {
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
])('with HOST %s the local URL of the API is %s', (host, url) => {
  expect(localApiUrl({ HOST: host }, ports)).toBe(url)
})
