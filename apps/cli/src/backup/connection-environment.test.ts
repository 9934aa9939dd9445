import { expect, test } from 'vitest'
import { connectionEnvironment } from './connection-environment.ts'

const always = { LC_ALL: 'C', PGAPPNAME: 'rapport backup' }

test('every part of a URL becomes a variable of libpq', () => {
  const url =
    'postgres://ada%40x:p%40ss%2Fword@db.example.com:6432/my%20crm?sslmode=verify-full&channel_binding=require'
  expect(connectionEnvironment(url, {})).toEqual({
    ...always,
    PGHOST: 'db.example.com',
    PGPORT: '6432',
    PGUSER: 'ada@x',
    PGPASSWORD: 'p@ss/word',
    PGDATABASE: 'my crm',
    PGSSLMODE: 'verify-full',
    PGCHANNELBINDING: 'require',
  })
})

test('addresses and sockets are read as the driver reads them', () => {
  expect(connectionEnvironment('postgres://[::1]/rapport', {})).toMatchObject({ PGHOST: '::1' })
  const socket = connectionEnvironment('postgres://ada@localhost/rapport?host=/run/postgresql&port=5433&ssl=true', {})
  expect(socket).toMatchObject({ PGHOST: '/run/postgresql', PGPORT: '5433', PGUSER: 'ada', PGDATABASE: 'rapport' })
  const percent = connectionEnvironment('postgres://ada:50%off@db/rapport', {})
  expect(percent).toMatchObject({ PGHOST: 'db', PGPORT: '5432', PGPASSWORD: '50%off' })
  expect(connectionEnvironment('postgres://db/rapport?sslmode=no-verify', {})).toMatchObject({ PGSSLMODE: 'require' })
})

test('inherits what the URL omits, and no secrets of Rapport', () => {
  const inherited = {
    PATH: '/bin',
    PGPASSWORD: 'inherited',
    PGSSLROOTCERT: '/root.crt',
    PGHOST: 'other',
    SECRET_KEY: 'secret',
    BACKUP_KEY: 'secret',
    DATABASE_URL: 'secret',
  }
  expect(connectionEnvironment('postgres://ada@db/rapport', inherited)).toEqual({
    ...always,
    PATH: '/bin',
    PGPASSWORD: 'inherited',
    PGSSLROOTCERT: '/root.crt',
    PGHOST: 'db',
    PGPORT: '5432',
    PGUSER: 'ada',
    PGDATABASE: 'rapport',
  })
})
