/** An IMAP server (RFC 3501) with one mailbox in memory, as much of it as a reader of unseen messages uses. */
import { type AddressInfo, createServer, type Socket } from 'node:net'

export interface ImapMessage {
  readonly raw: string
  seen: boolean
}

export interface ImapReceiver {
  /** `imap://…`, with the user and the mailbox. */
  readonly url: string
  readonly messages: ImapMessage[]
  /** Called before each command. `disconnect` closes the connection instead of a response. */
  decide(decide: (command: string) => 'respond' | 'disconnect'): void
  /** How many clients have logged in. */
  readonly logins: number
  close(): Promise<void>
}

export async function startImapServer(): Promise<ImapReceiver> {
  const messages: ImapMessage[] = []
  const sockets = new Set<Socket>()
  let logins = 0
  let decide: (command: string) => 'respond' | 'disconnect' = () => 'respond'

  function respond(tag: string, command: string, socket: Socket): void {
    const ok = (...untagged: string[]) => {
      for (const line of untagged) socket.write(`* ${line}\r\n`)
      socket.write(`${tag} OK done\r\n`)
    }
    const [name = '', ...rest] = command.split(' ')
    const isByUid = name.toUpperCase() === 'UID'
    const verb = (isByUid ? rest.shift() : name)?.toUpperCase() ?? ''
    if (verb === 'CAPABILITY') return ok('CAPABILITY IMAP4rev1')
    if (verb === 'LOGIN') {
      logins++
      if (!rest.join(' ').includes('secret')) return void socket.write(`${tag} NO [AUTHENTICATIONFAILED] wrong\r\n`)
      return ok()
    }
    if (verb === 'LIST' || verb === 'LSUB') return ok(`LIST (\\HasNoChildren) "/" INBOX`)
    if (verb === 'SELECT' || verb === 'EXAMINE') {
      if (!/^"?INBOX"?$/i.test(rest.join(' '))) return void socket.write(`${tag} NO [NONEXISTENT] no such mailbox\r\n`)
      const flags = 'FLAGS (\\Seen)'
      return ok(
        flags,
        `${messages.length} EXISTS`,
        '0 RECENT',
        'OK [UIDVALIDITY 1] ok',
        `OK [UIDNEXT ${messages.length + 1}] ok`,
      )
    }
    if (verb === 'SEARCH') {
      const unseen = messages.flatMap(({ seen }, at) => (seen ? [] : [at + 1]))
      return ok(`SEARCH ${unseen.join(' ')}`.trim())
    }
    const uid = Number(rest[0])
    const message = messages[uid - 1]
    if (verb === 'FETCH' && message) {
      const raw = Buffer.from(message.raw)
      socket.write(`* ${uid} FETCH (UID ${uid} BODY[]<0> {${raw.length}}\r\n`)
      socket.write(raw)
      socket.write(')\r\n')
      return ok()
    }
    if (verb === 'STORE' && message) {
      message.seen = /\+FLAGS/i.test(command) && /\\Seen/i.test(command)
      return ok(`${uid} FETCH (UID ${uid} FLAGS (\\Seen))`)
    }
    if (verb === 'LOGOUT') {
      ok('BYE')
      return void socket.end()
    }
    ok()
  }

  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => {})
    let received = ''
    socket.write('* OK ready\r\n')
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1')
      for (let end = received.indexOf('\r\n'); end >= 0; end = received.indexOf('\r\n')) {
        const [, tag = '', command = ''] = /^(\S+) (.*)$/.exec(received.slice(0, end)) ?? []
        received = received.slice(end + 2)
        if (decide(command) === 'disconnect') return void socket.destroy()
        respond(tag, command, socket)
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `imap://bounces:secret@127.0.0.1:${(server.address() as AddressInfo).port}/INBOX`,
    messages,
    decide: (next) => void (decide = next),
    get logins() {
      return logins
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}
