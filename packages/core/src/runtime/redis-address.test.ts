import { expect, test } from 'vitest'
import { parseRedisAddress } from './redis-address.ts'

test('parses the address of a server, a cluster, and sentinels', () => {
  expect(parseRedisAddress('rediss://user:pass@cache.example.com:6380/1')).toEqual({
    kind: 'server',
    url: 'rediss://user:pass@cache.example.com:6380/1',
  })
  expect(parseRedisAddress('redis+cluster://10.0.0.1:7001,10.0.0.2,[::1]:7003')).toEqual({
    kind: 'cluster',
    nodes: [
      { host: '10.0.0.1', port: 7001 },
      { host: '10.0.0.2', port: 6379 },
      { host: '::1', port: 7003 },
    ],
    tls: false,
  })
  expect(parseRedisAddress('rediss+sentinel://:p%40ss:word@a:1,b/my-master/2?sentinelPassword=s%20p')).toEqual({
    kind: 'sentinel',
    sentinels: [
      { host: 'a', port: 1 },
      { host: 'b', port: 26_379 },
    ],
    master: 'my-master',
    database: 2,
    tls: true,
    password: 'p@ss:word',
    sentinelPassword: 's p',
  })
})

test.each([
  'http://localhost:6379',
  'redis+cluster://',
  'redis+cluster://a:1,,b:2',
  'redis+cluster://a:99999',
  'redis+cluster://a:1/mymaster',
  'redis+cluster://a:1?sentinelPassword=x',
  'redis+sentinel://a:1',
  'redis+sentinel://a:1/mymaster/one',
  'redis+sentinel://a:1/mymaster?password=x',
  'redis+cluster://user:%zz@a:1',
])('%s is not a Redis address', (text) => {
  expect(parseRedisAddress(text)).toBeUndefined()
})
