// Recording rules over node_exporter's counters and `stackmap export --textfile`.
// stackmap-fleet(7) explains the metrics. Labels: top and name are one volume or shared array of an
// instance; layer is "volume", "raid" (where it is not the volume itself), "members", "disks", or
// another layer's name; role is "data" or "metadata".
local promql = import 'promql.libsonnet';

{
  local config = $._config,
  local p = promql(config),
  local record(name, expression) = { record: name, expr: expression },

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
  local perLevel(figure) = |||
    sum without (top, name) (%s
    * ignoring (kind, level) group_left () %s)
  ||| % [p.info, figure],

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
    record('instance_level:stackmap_volumes:count', 'count without (top, name) (%s)' % p.info),
    record('instance_level:stackmap_written_bytes:rate5m', perLevel(atVolume('written_bytes'))),
    record('instance_level:stackmap_wasted_bytes:rate5m', perLevel(volume('wasted_bytes'))),
    record('instance_level:stackmap_wasted_requests:rate5m', perLevel(volume('wasted_requests'))),

    // Degraded, and held where the textfile vanishes: nothing says then that the array is whole. It ends when a new
    // file says so or lacks the array, or when the target is removed.
    record('instance_top:stackmap_degraded:held', |||
      %s == 1
      or last_over_time(instance_top:stackmap_degraded:held[1h])
      unless ignoring (top, name) %s
      and ignoring (top, name) %s
    ||| % [p.textfile('stackmap_stack_degraded'), p.textfile('stackmap_topology_timestamp_seconds'), p.scrape('up', config.upSelector)]),

    // How full thin pools and snapshots are.
    record('instance_device:stackmap_used:ratio', std.join('\nor ', [
      'label_replace(%s, "space", "%s", "", "")' % [p.textfile(of[0], 'space=""'), of[1]]
      for of in [
        ['stackmap_thin_pool_data_used_ratio', 'data'],
        ['stackmap_thin_pool_metadata_used_ratio', 'metadata'],
        ['stackmap_snapshot_used_ratio', 'space'],
      ]
    ])),
  ],

  // Means of an hour, for reports on days and weeks.
  local hours = [
    record('instance_top:stackmap_%s:avg1h' % name, perVolume('avg_over_time(%s[1h])' % of(layer(name), 'volume')))
    for name in ['read_bytes', 'written_bytes', 'reads', 'writes']
  ] + [
    record('instance_top:stackmap_%s:avg1h' % name, 'avg_over_time(%s[1h])' % volume(name))
    for name in ['disk_bytes', 'disk_requests', 'parity_cost_bytes', 'parity_written_bytes', 'wasted_bytes', 'wasted_requests']
  ] + [
    record('instance_level:stackmap_%s:avg1h' % name, 'avg_over_time(instance_level:stackmap_%s:rate5m[1h])' % name)
    for name in ['written_bytes', 'wasted_bytes', 'wasted_requests']
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
      { name: 'stackmap.volumes', interval: config.interval, rules: volumes },
      { name: 'stackmap.hours', interval: '1h', rules: hours },
    ],
  },
}
