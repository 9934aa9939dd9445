import { newId } from '@rapport/core/kernel/ids.ts'
import { useForTest } from '@rapport/testing/fixtures/use-fixtures.ts'
import { startSmtpReceiver } from '@rapport/testing/network/receivers.ts'
import { expect, test } from 'vitest'
import type { MailSource } from './connection-slots.ts'
import { openMailTransport } from './mail-transport.ts'

const smtp = useForTest(() =>
  startSmtpReceiver({ decide: (to) => (to.startsWith('hangs') ? 'hang after data' : 'accept') }),
)

test('emails of a workspace whose server hangs leave connections to other mails', async () => {
  const transport = openMailTransport(smtp.url)
  const send = (to: string, source: MailSource) =>
    transport.send(
      {
        from: { name: '', address: 'a@example.com' },
        to: { name: '', address: to },
        subject: 'S',
        text: 'T',
        messageId: `<${to}>`,
      },
      undefined,
      source,
    )
  const workspaceId = newId('wsp')
  for (let n = 0; n < 25; n++) void send(`hangs-${n}@example.com`, workspaceId)
  await smtp.waitFor(13)
  for (const source of [newId('wsp'), 'single'] as const)
    expect(await send('ada@example.com', source)).toMatchObject({ kind: 'sent' })
  expect(smtp.mails).toHaveLength(15)
  transport.close()
})
