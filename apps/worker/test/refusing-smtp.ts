import { type AddressInfo, createServer } from 'node:net'

/** Starts an SMTP server that refuses every login, every sender, or every recipient. */
export async function startRefusingSmtp(refused: 'AUTH' | 'MAIL' | 'RCPT', response = `535 5.7.8 ${refused} refused`) {
  const server = createServer((socket) => {
    socket
      .on('error', () => {})
      .on('data', (chunk) => {
        const command = chunk.toString().slice(0, 4).toUpperCase()
        if (command === refused) socket.write(`${response}\r\n`)
        else if (command === 'EHLO') socket.write('250-hello\r\n250 AUTH PLAIN\r\n')
        else socket.write(command === 'AUTH' ? '235 ok\r\n' : '250 ok\r\n')
      })
    socket.write('220 hello\r\n')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `smtp://user:wrong@127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  }
}
