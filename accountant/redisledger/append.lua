-- Appends lines to a ledger if it ends where the caller says, in one write
-- command, so that no crash can keep a part. Otherwise it returns what follows.
-- KEYS[1] the ledger's hash. ARGV: 1 its ID, 2 the number and 3 the hash of its
-- last line, 4 the hash of the last new line, 5 how many missed lines to return,
-- 6 how many replicas must be there, then the new lines.
local k = KEYS[1]
local is = redis.call('HMGET', k, 'id', 'seq', 'head')
if not (is[1] and is[2] and is[3]) then return {'EMPTY'} end
if is[1] ~= ARGV[1] then return {'OTHER', is[1]} end
local seq, own = tonumber(is[2]), tonumber(ARGV[2])
if seq < own then return {'BACKWARDS', is[2]} end
if seq > own then
  local last = math.min(seq, own + tonumber(ARGV[5]))
  local names = {}
  for n = own + 1, last do names[#names + 1] = 'x:' .. string.format('%.0f', n) end
  local lines = redis.call('HMGET', k, unpack(names))
  table.insert(lines, 1, 'BEHIND')
  return lines
end
if is[3] ~= ARGV[3] then return {'FORKED', is[2]} end
local n = #ARGV - 6
if n == 0 then return {'OK'} end
local wanted = tonumber(ARGV[6])
if wanted > 0 then
  -- A replica says each second how far it is: one that has been silent for longer would not confirm the lines.
  local there = 0
  for lag in string.gmatch(redis.call('INFO', 'replication'), 'state=online,offset=%d+,lag=(%d+)') do
    if tonumber(lag) <= 3 then there = there + 1 end
  end
  if there < wanted then return {'REPLICAS', string.format('%.0f', there)} end
end
local out = {'seq', string.format('%.0f', seq + n), 'head', ARGV[4]}
for i = 1, n do
  out[#out + 1] = 'x:' .. string.format('%.0f', seq + i)
  out[#out + 1] = ARGV[6 + i]
end
redis.call('HSET', k, unpack(out))
return {'OK'}
