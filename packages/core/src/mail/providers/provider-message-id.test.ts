import { expect, test } from 'vitest'
import { findProviderMessageId } from './provider-message-id.ts'

test.each([
  [
    '250 Ok 010001905f3a7c2e-8d6f1c2b-3a4e-4b5c-9d8e-7f6a5b4c3d2e-000000',
    '010001905f3a7c2e-8d6f1c2b-3a4e-4b5c-9d8e-7f6a5b4c3d2e-000000',
  ],
  ['250 Ok: queued as HGkHKoHaSSOShGDbEOVbkA', 'HGkHKoHaSSOShGDbEOVbkA'],
  ['250 2.0.0 Ok: queued as 4XyZ1k5Bz3z9sT', '4XyZ1k5Bz3z9sT'],
  ['250 2.0.0 Ok: queued as 0CA4412040B', '0CA4412040B'],
  ['250 2.0.0 Ok: queued on smtp3m.mail.yandex.net as 1430081058-6ltgNFKSir', '1430081058-6ltgNFKSir'],
  ['250 OK id=1sNkXy-00000000abc-2DEf', '1sNkXy-00000000abc-2DEf'],
  ['250 Message Queued (8A2FE8B1-0F0B-4C1B-9B5C-2A6A0C0A0B0C.1)', '8A2FE8B1-0F0B-4C1B-9B5C-2A6A0C0A0B0C.1'],
  ['250 OK b7bc2f4a-e38e-4336-af7d-e6c392c2f817', 'b7bc2f4a-e38e-4336-af7d-e6c392c2f817'],
  [
    '250 2.0.0 OK <b7bc2f4a-e38e-4336-af7d-e6c392c2f817@example.com>',
    'b7bc2f4a-e38e-4336-af7d-e6c392c2f817@example.com',
  ],
  ['250-first line\r\n250 2.0.0 Ok: queued as ABC123\r\n', 'ABC123'],
  ['250 Great success', null],
  ['250 2.0.0 OK: Message received', null],
  ['250 2.6.0 Message accepted for delivery', null],
  ['250 ok antidisestablishmentarianism', null],
  [`250 Ok: queued as ${'a'.repeat(201)}`, null],
  ['', null],
])('finds the id in %j', (response, id) => {
  expect(findProviderMessageId(response)).toBe(id)
})
