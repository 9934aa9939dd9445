import pg from 'pg'
import { beforeAll, expect, test } from 'vitest'

// It makes every connection hear its errors, as BullMQ's own do not.
beforeAll(() => import('./queue-backend.ts'))

test('a connection that breaks ends no process: as it connects, before anyone hears it, or once nobody does any more', async () => {
  const client = new pg.Client({ host: '127.0.0.1', port: 1 })
  const connecting = client.connect()
  const breaks = () => client.emit('error', new Error('terminating connection due to administrator command'))
  expect(breaks).not.toThrow()
  client.removeAllListeners()
  expect(breaks).not.toThrow()
  await expect(connecting).rejects.toThrow('ECONNREFUSED')
})
