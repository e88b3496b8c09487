// Recording rules over node_exporter's counters and `stackmap export --textfile`.
// stackmap-fleet(7) explains the metrics. Labels: top and name are one volume or shared array of an
// instance; layer is "volume", "raid" (where it is not the volume itself), "members", "disks", or
// another layer's name; role is "data" or "metadata".
local promql = import 'promql.libsonnet';

{
  local config = $._config,
  local p = promql(config),
  local record(name, expression, labels={}) = { record: name, expr: expression } + if labels == {} then {} else { labels: labels },

  local layer(name) = 'instance_top_layer:stackmap_%s:rate5m' % name,
  local volume(name) = 'instance_top:stackmap_%s:rate5m' % name,
  local of(name, layer) = '%s{layer="%s"}' % [name, layer],
  // One value per volume.
  local perVolume(series) = 'sum without (layer, role) (%s)' % series,
  local withoutCounters = 'instance_top_layer:stackmap_devices_without_counters:count',
  local unlessIncomplete(layers) = 'unless ignoring (layer) %s{layer=~"%s"}' % [withoutCounters, layers],
  // A resync is no I/O of the volume.
  local syncing = p.textfile('stackmap_stack_sync_active') + ' == 1',

  local layers = [
    record(layer('read_bytes'), 'sum without (device) (%s)' % p.perWeight(p.rate('read_bytes'))),
    record(layer('written_bytes'), 'sum without (device) (%s)' % p.perWeight(p.rate('written_bytes'))),
    record(layer('reads'), 'sum without (device) (%s)' % p.perWeight(p.arrivals('reads'))),
    record(layer('writes'), 'sum without (device) (%s)' % p.perWeight(p.arrivals('writes'))),
    // The sums above lack these devices: every figure below leaves out such layers.
    record(withoutCounters, |||
      count without (role, device) (%s
      unless ignoring (top, name, layer, role) (%s or %s))
    ||| % [p.weight(p.notReplaced), p.counter('written_bytes'), p.ownCounter('written_bytes')]),
  ] + [
    // The share of the requests sent to a disk that it completes on their own, after merging; 1 while idle. No dm or
    // md device is the last of a stack; to leave them out first saves nine tenths of the time.
    local notStacked = p.noDisk + ',device!~"(dm-|md).*"';
    local completed = 'rate(%s[%s])' % [p.counter(direction + '_completed', notStacked), config.range];
    local merged = 'rate(%s[%s])' % [p.counter(direction + '_merged', notStacked), config.range];
    record('instance_disk:stackmap_%s_completed:ratio_rate5m' % direction, |||
      sum without (device) (label_replace(
      %(completed)s / (%(completed)s + %(merged)s > 0)
      or %(completed)s * 0 + 1
      , "disk", "$1", "device", "(.+)") and ignoring (device) %(disks)s)
    ||| % { completed: completed, merged: merged, disks: p.textfile('stackmap_device_disk_info') })
    for direction in ['reads', 'writes']
  ] + [
    local await(counter) =
      local rate(name) = 'rate(%s[%s])' % [counter(name), config.range];
      '(%s + %s)\n/ (%s + %s > 1)' % [rate('read_time_seconds'), rate('write_time_seconds'), rate('reads_completed'), rate('writes_completed')];
    record('instance_top_device:stackmap_member_await_seconds:rate5m', |||
      (%s > bool 0)
      * ignoring (top, name, layer, role) group_left ()
      (%s
      or %s)
      and ignoring (layer, role, device) %s
    ||| % [p.weight('layer="members"'), await(p.counter), await(p.ownCounter), p.textfile('stackmap_stack_members')]),
  ],

  local ratios = [
    // Bytes written at a layer per byte written to the volume.
    record('instance_top_layer:stackmap_write_amplification:ratio_rate5m', |||
      (%(written)s{layer!="volume",role="data"}
      / ignoring (layer, role) group_left () (%(written)s{layer="volume"} > 0))
      unless ignoring (role) %(lacking)s
      unless ignoring (layer, role) %(lacking)s{layer="volume"}
      unless ignoring (layer, role) %(syncing)s
    ||| % { written: layer('written_bytes'), lacking: withoutCounters, syncing: syncing }),
    // Requests that arrive at a layer per request of the volume.
    record('instance_top_layer:stackmap_io_amplification:ratio_rate5m', |||
      ((%(reads)s{layer!="volume",role="data"} + %(writes)s)
      / ignoring (layer, role) group_left ()
      (%(reads)s{layer="volume"} + %(writes)s > 0))
      unless ignoring (role) %(lacking)s
      unless ignoring (layer, role) %(lacking)s{layer="volume"}
      unless ignoring (layer, role) %(syncing)s
    ||| % { reads: layer('reads'), writes: layer('writes'), lacking: withoutCounters, syncing: syncing }),
    // Mean request size of the volume ÷ mean size of what arrives at a layer.
    record('instance_top_layer:stackmap_shrink:ratio_rate5m', |||
      instance_top_layer:stackmap_io_amplification:ratio_rate5m
      / ((%(read)s{layer!="volume",role="data"} + %(written)s)
      / ignoring (layer, role) group_left ()
      (%(read)s{layer="volume"} + %(written)s > 0))
    ||| % { read: layer('read_bytes'), written: layer('written_bytes') }),
  ],

  // Bytes at the RAID, which may be the volume itself.
  local atRaid(name) = '(%s\nor %s)' % [perVolume(of(layer(name), 'raid')), perVolume(of(layer(name), 'volume'))],
  // Requests that the disks complete, after merging; a shared disk's are divided in proportion.
  local completedAtDisks(direction) = |||
    %s
    * max without (disk) (%s * ignoring (device) group_left () instance_disk:stackmap_%s_completed:ratio_rate5m)
  ||| % [p.arrivals(direction), p.textfile('stackmap_device_disk_info'), direction],
  local wasted(spent, read, written) = |||
    clamp_min(%s
    - %s
    - %s
    * (%s), 0)
    %s
    unless %s
  ||| % [
    volume(spent),
    read,
    p.textfile('stackmap_stack_ideal_write_ratio'),
    written,
    unlessIncomplete('volume'),
    syncing,
  ],
  local atVolume(name) = perVolume(of(layer(name), 'volume')),
  // The fewest requests for what arrives: a request of several chunks goes to several disks.
  local fewest(arrivals, bytes) = |||
    (%s / %s > %s)
    or %s
  ||| % [atVolume(bytes), p.textfile('stackmap_stack_chunk_bytes'), atVolume(arrivals), atVolume(arrivals)],
  // What several stacks share is in the sums of what is lost there, and not in those of what arrives.
  local perLevel(info, figure) = |||
    sum without (top, name, shared) (max without (uuid) (%s)
    * ignoring (kind, level, shared) group_left () %s)
  ||| % [info, figure],
  local own = p.info('shared=""'),
  local requests = '(%s + %s)' % [atVolume('reads'), atVolume('writes')],

  local disk(name) = p.counter(name, p.noDisk + ',device!~"(dm-|md|loop).*"'),

  local volumes = [
    // Everything the disks read and wrote for a volume: data and metadata.
    record(volume('disk_bytes'), |||
      sum without (layer, role) (%s{layer="disks"} + %s)
      %s
    ||| % [layer('read_bytes'), layer('written_bytes'), unlessIncomplete('disks')]),
    record(volume('disk_requests'), |||
      sum without (layer, role, device) (%s)
      %s
      unless ignoring (layer, role, device) (%s
      unless ignoring (top, name, layer, role) max without (disk) (%s and ignoring (device) instance_disk:stackmap_writes_completed:ratio_rate5m))
    ||| % [
      p.perWeight('(%s+ %s)' % [completedAtDisks('reads'), completedAtDisks('writes')], 'layer="disks"'),
      unlessIncomplete('disks'),
      p.weight('layer="disks"'),
      p.textfile('stackmap_device_disk_info'),
    ]),
    // Seconds that all its requests took together; divided by the requests, their await.
    record(volume('io_seconds'), |||
      sum without (layer, role, device) (%s)
      %s
    ||| % [p.perWeight('(%s + %s)' % [p.rate('read_time_seconds'), p.rate('write_time_seconds')], 'layer="volume"'), unlessIncomplete('volume')]),
    // What a volume writes to each disk that says how worn it is, for whatever cause; nothing where a device that
    // lies on several disks hides which.
    record('instance_top_disk:stackmap_written_bytes:rate5m', |||
      sum without (layer, role, device) (%(bytes)s
      * ignoring (top, name, layer, role, disk) group_left (disk) topk without (disk) (1, %(heads)s
      and ignoring (device) max without (device, name) (label_replace(%(worn)s, "disk", "$1", "device", "(.+)"))))
      unless ignoring (disk, layer) %(lacking)s{layer="disks"}
      unless ignoring (disk) max without (layer, role, device) (%(weight)s
      unless ignoring (top, name, layer, role) max without (disk) (%(disks)s))
    ||| % {
      bytes: p.perWeight(p.rate('written_bytes'), 'layer="disks"'),
      weight: p.weight('layer="disks"'),
      disks: p.textfile('stackmap_device_disk_info'),
      // Of an NVMe disk with one path, nvme0c0n1, its head has the health.
      heads: '(%s\nor label_replace(%s, "disk", "${1}${2}", "disk", "(nvme[0-9]+)c[0-9]+(n[0-9]+)"))' % [
        p.textfile('stackmap_device_disk_info', 'disk!~"nvme[0-9]+c.*"'),
        p.textfile('stackmap_device_disk_info', 'disk=~"nvme[0-9]+c.*"'),
      ],
      worn: p.textfile('stackmap_device_life_used_ratio'),
      lacking: withoutCounters,
    }),
    // What everything writes to such a disk: volumes, partitions, and what is no stack.
    record('instance_disk:stackmap_written_bytes:rate5m', |||
      sum without (device) (label_replace(rate(%s[%s])
      and ignoring (name) %s, "disk", "$1", "device", "(.+)"))
    ||| % [disk('written_bytes'), config.range, p.textfile('stackmap_device_life_used_ratio')]),
    // What parity costs: bytes written and read at the members beyond the bytes read: Mw + Mr - R.
    // Not while a member is missing: reads in its place are not for parity.
    record(volume('parity_cost_bytes'), |||
      (sum without (layer, role) (%s{layer="members"} + %s)
      - %s
      and %s > 0)
      %s
      unless %s
      unless %s == 1
    ||| % [
      layer('written_bytes'),
      layer('read_bytes'),
      atRaid('read_bytes'),
      p.textfile('stackmap_stack_parity_members'),
      unlessIncomplete('volume|raid|members'),
      syncing,
      p.textfile('stackmap_stack_degraded'),
    ]),
    // What was written while that is known: only their quotient, and that of their means, is a ratio.
    record(volume('parity_written_bytes'), '%s\nand %s' % [atRaid('written_bytes'), volume('parity_cost_bytes')]),
    record(
      'instance_top:stackmap_parity_cost:ratio_rate5m',
      '%s / (%s > 0)' % [volume('parity_cost_bytes'), volume('parity_written_bytes')]
    ),
    // What it would cost with full-stripe writes only.
    record(
      'instance_top:stackmap_parity_ideal:ratio',
      '%(members)s / (%(members)s - %(parity)s) and %(parity)s > 0' %
      { members: p.textfile('stackmap_stack_members'), parity: p.textfile('stackmap_stack_parity_members') }
    ),
    // Disk bytes and requests beyond what was read and the ideal of what was written.
    record(volume('wasted_bytes'), wasted('disk_bytes', atVolume('read_bytes'), atVolume('written_bytes'))),
    record(volume('wasted_requests'), wasted('disk_requests', '(%s)' % fewest('reads', 'read_bytes'), fewest('writes', 'written_bytes'))),
    // Of the members that the host's own explain calls slow, the slowest: await ÷ median of its peers.
    record(
      'instance_top_device:stackmap_slowest_member:ratio_rate5m',
      'topk without (device) (1, %s)' % p.textfile('stackmap_slow_member_ratio')
    ),

    // Sums per host, kind and level, so that totals of a fleet read few series.
    // Disks and partitions too, which are no volumes: they tell which hosts there are.
    // A second textfile, of a version that writes no uuid, does not count volumes again.
    record('instance_level:stackmap_volumes:count', 'count without (top, name) (max without (uuid) (%s))' % p.info()),
    record('instance_level:stackmap_written_bytes:rate5m', perLevel(own, atVolume('written_bytes'))),
    record('instance_level:stackmap_requests:rate5m', perLevel(own, requests)),
    record('instance_level:stackmap_io_seconds:rate5m', perLevel(own, volume('io_seconds'))),
    record('instance_level:stackmap_wasted_bytes:rate5m', perLevel(p.info(), volume('wasted_bytes'))),
    record('instance_level:stackmap_wasted_requests:rate5m', perLevel(p.info(), volume('wasted_requests'))),

    // How full thin pools, VDO pools and snapshots are.
    record('instance_device:stackmap_used:ratio', std.join('\nor ', [
      'label_replace(%s, "space", "%s", "", "")' % [p.textfile(of[0], 'space=""'), of[1]]
      for of in [
        ['stackmap_thin_pool_data_used_ratio', 'data'],
        ['stackmap_thin_pool_metadata_used_ratio', 'metadata'],
        ['stackmap_vdo_pool_used_ratio', 'data'],
        ['stackmap_snapshot_used_ratio', 'space'],
      ]
    ])),
  ],

  // By model of disk, of each host.
  local perModel(one, other) = |||
    sum without (device) ((rate(%s[%s]) + rate(%s[%s]))
    * ignoring (model) group_left (model) %s)
  ||| % [disk(one), config.range, disk(other), config.range, p.diskLabels('model')],
  local models = [
    record('instance_model:stackmap_disks:count', 'count without (device) (%s)' % p.diskLabels('model')),
    record('instance_model:stackmap_disk_requests:rate5m', perModel('reads_completed', 'writes_completed')),
    record('instance_model:stackmap_disk_io_seconds:rate5m', perModel('read_time_seconds', 'write_time_seconds')),
  ],

  // What is wrong. The alerts and stackmap fleet read these series: one definition for both. The label what is
  // degraded, failed, full, sick, worn, hung, silent or clock; reason says why a host is silent; the value is the used
  // share of what is full or worn, the times the await of its peers of what is sick, and the seconds of a wrong clock.
  // A rule each: one that fails hides no other trouble.
  local what(name, expression, reason='') =
    record(now, expression, { what: name } + if reason == '' then {} else { reason: reason }),
  local topologyTime = p.textfile('stackmap_topology_timestamp_seconds'),
  local nodeTime = p.scrape('node_time_seconds', config.nodeExporterSelector),
  local up = p.scrape('up', config.upSelector),
  local known = 'instance:stackmap_known:group',
  local brokenIs(name) = 'instance_device:stackmap_broken:held{what="%s"}' % name,
  local now = 'instance_device:stackmap_trouble:now',
  local since = 'instance_device:stackmap_trouble:since_seconds',
  // The model and serial number of a disk, where node_exporter knows them.
  local ofDisk(expression) = |||
    (%(found)s
    * ignoring (model, serial, name) group_left (model, serial) %(disks)s
    or ignoring (model, serial) %(found)s)
  ||| % { found: expression, disks: p.diskLabels('model, serial') },
  local troubles = [
    // Hosts that had stacks in the last week.
    local count = 'instance_level:stackmap_volumes:count';
    record(known, 'group without (kind, level, shared) (max_over_time(%s[7d:1h]) or max_over_time(%s[1h]))' % [count, count]),
    // Broken, and held where the textfile vanishes: nothing says then that the device is whole. It ends when a new
    // file says so or lacks the device, or when the target is removed.
    record('instance_device:stackmap_broken:held', |||
      %s
      or last_over_time(instance_device:stackmap_broken:held[1h])
      unless ignoring (device, name, what) %s
      and ignoring (device, name, what) %s
    ||| % [p.textfile('stackmap_broken'), topologyTime, up]),
    // The host judges its members, by explain's rule over ten minutes; a resync makes a member slow. Two members on one
    // disk are one sick disk.
    record('instance_device:stackmap_sick:ratio', |||
      max without (disk) (label_replace(max without (device) (
      %(slow)s
      * ignoring (disk) group_right () %(disks)s
      or ignoring (disk) label_replace(%(slow)s, "disk", "$1", "device", "(.+)")
      ), "device", "$1", "disk", "(.+)"))
    ||| % {
      slow: '(max without (top, name) (%s unless ignoring (device) %s))' % [p.textfile('stackmap_slow_member_ratio'), syncing],
      disks: p.textfile('stackmap_device_disk_info'),
    }),
    what('degraded', brokenIs('degraded')),
    what('failed', brokenIs('failed')),
    what('full', 'instance_device:stackmap_used:ratio > %s' % config.poolFull.critical),
    what('sick', ofDisk('instance_device:stackmap_sick:ratio')),
    what('worn', ofDisk('(%s >= %g)' % [p.textfile('stackmap_device_life_used_ratio'), config.lifeUsed])),
    what('hung', ofDisk('(%s or ignoring (what) %s)' % [p.textfile('stackmap_device_hung'), brokenIs('hung')])),
    what('silent', '(%s == 0 and %s)' % [up, known], 'node_exporter does not answer'),
    what('silent', '(%s unless %s and %s == 1)' % [known, topologyTime, up], 'no textfile'),
    // By the host's own clock, if its exporter tells the time.
    what('silent', '((%s or %s * 0 + time()) - %s > %s)' % [nodeTime, topologyTime, topologyTime, config.topologyStaleSeconds], 'an old textfile'),
    what('clock', '(abs(%(node)s - timestamp(%(node)s)) > %(limit)d or %(topology)s - time() > %(limit)d)' % { node: nodeTime, topology: topologyTime, limit: config.clockSkewSeconds }),
    // When it began; after a gap in the rules, when they saw it again.
    record(since, |||
      last_over_time(%(since)s[10m]) and %(now)s
      or %(now)s * 0 + time()
    ||| % { now: now, since: since }),
    // 0 says that all is well; nothing, that nobody looked.
    record('instance:stackmap_troubles:count', |||
      count without (what, reason, device, name, space, model, serial) (%s)
      or %s * 0
    ||| % [now, known]),
  ],

  // Means of an hour, for reports on days and weeks.
  local hours = [
    record('instance_top:stackmap_%s:avg1h' % name, perVolume('avg_over_time(%s[1h])' % of(layer(name), 'volume')))
    for name in ['read_bytes', 'written_bytes', 'reads', 'writes']
  ] + [
    record('instance_top:stackmap_%s:avg1h' % name, 'avg_over_time(%s[1h])' % volume(name))
    for name in ['io_seconds', 'disk_bytes', 'disk_requests', 'parity_cost_bytes', 'parity_written_bytes', 'wasted_bytes', 'wasted_requests']
  ] + [
    record('instance_level:stackmap_%s:avg1h' % name, 'avg_over_time(instance_level:stackmap_%s:rate5m[1h])' % name)
    for name in ['written_bytes', 'requests', 'io_seconds', 'wasted_bytes', 'wasted_requests']
  ] + [
    record('instance_model:stackmap_%s:avg1h' % name, 'avg_over_time(instance_model:stackmap_%s:rate5m[1h])' % name)
    for name in ['disk_requests', 'disk_io_seconds']
  ] + [
    record('%s:stackmap_written_bytes:avg1h' % of, 'avg_over_time(%s:stackmap_written_bytes:rate5m[1h])' % of)
    for of in ['instance_top_disk', 'instance_disk']
  ] + [
    local ratio = 'instance_top_device:stackmap_slowest_member:ratio_rate5m';
    record(
      'instance_top_device:stackmap_slowest_member:avg1h',
      'topk without (device) (1, sum_over_time(%(ratio)s[1h])) / count_over_time(%(ratio)s[1h])' % { ratio: ratio }
    ),
  ],

  prometheusRules+:: {
    groups+: [
      { name: 'stackmap.layers', interval: config.interval, rules: layers },
      { name: 'stackmap.ratios', interval: config.interval, rules: ratios },
      { name: 'stackmap.volumes', interval: config.interval, rules: volumes + models },
      { name: 'stackmap.health', interval: '1m', rules: troubles },
      { name: 'stackmap.hours', interval: '1h', rules: hours },
    ],
  },
}
