import { expect, test } from 'vitest'
import { serializeError } from './logging.ts'

test('an error is logged without the connection that it is about', () => {
  const error = Object.assign(new Error('Connection terminated'), { code: '57P01', client: { secretKey: 42 } })
  const shown = serializeError(error)
  expect(shown).toMatchObject({ type: 'Error', message: 'Connection terminated', code: '57P01', stack: error.stack })
  expect(shown).not.toHaveProperty('client')
})
