/** A name server for tests, on UDP. */
import { createSocket } from 'node:dgram'

export type NameServer = Awaited<ReturnType<typeof startNameServer>>

const recordTypes = { A: 1, TXT: 16 } as const

/**
 * Knows IPv4 addresses of names, in turns of answers, and texts; says of `.invalid` that it is none, and of all else
 * nothing, unless `denyUnknown`: then there is no such name.
 */
export async function startNameServer({ denyUnknown = false } = {}) {
  const socket = createSocket('udp4')
  const [turns, counts] = [new Map<string, (readonly string[])[]>(), new Map<string, number>()]
  const texts = new Map<string, readonly string[]>()

  function addressesOf(name: string): Buffer[] {
    const known = turns.get(name) ?? []
    const count = counts.get(name) ?? 0
    counts.set(name, count + 1)
    const addresses = known[Math.min(count, known.length - 1)] ?? []
    return addresses.map((ip) => Buffer.from(ip.split('.').map(Number)))
  }
  socket.on('message', (query, { address, port }) => {
    const { name, end } = readName(query)
    const type = query.readUInt16BE(end)
    const isKnown = turns.has(name) || texts.has(name)
    if (!isKnown && !denyUnknown && !name.endsWith('.invalid')) return
    const values =
      type === recordTypes.A ? addressesOf(name) : type === recordTypes.TXT ? (texts.get(name) ?? []).map(inPieces) : []
    const head = Buffer.from(query.subarray(0, 12))
    head.writeUInt16BE(isKnown ? 0x8180 : 0x8183, 2)
    head.writeUInt16BE(values.length, 6)
    // Of what else a query says, such as the size of answers it can take, nothing comes back.
    head.writeUInt32BE(0, 8)
    const records = values.map((value) => toRecord(type, value))
    socket.send(Buffer.concat([head, query.subarray(12, end + 4), ...records]), port, address)
  })
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  return {
    address: `127.0.0.1:${socket.address().port}`,
    setAddresses: (name: string, answers: (readonly string[])[]) => void turns.set(name, answers),
    /** The TXT records of a name from now on. */
    setTextRecords: (name: string, ...records: string[]) => void texts.set(name, records),
    countQueries: (name: string) => counts.get(name) ?? 0,
    resetCounts: () => counts.clear(),
    close: () => socket.close(),
  }
}

/** Of the name that was asked for, for no time. */
function toRecord(type: number, value: Buffer): Buffer {
  return Buffer.concat([
    Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 0, value.length >> 8, value.length & 255]),
    value,
  ])
}

/** A text is in pieces of at most 255 bytes, each with its length before it. */
function inPieces(text: string): Buffer {
  const pieces = text.match(/.{1,255}/gs) ?? ['']
  return Buffer.concat(pieces.flatMap((piece) => [Buffer.from([piece.length]), Buffer.from(piece)]))
}

function readName(query: Buffer): { name: string; end: number } {
  const labels: string[] = []
  let at = 12
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.').toLowerCase(), end: at + 1 }
}
