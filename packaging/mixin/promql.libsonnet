// Parts of the expressions. Joins keep all labels of a target (without, ignoring), so each series of
// one target meets only series of the same target: equal names in two clusters cannot collide.
function(config) {
  local matchers(list) = std.join(',', std.filter(function(each) each != '', list)),

  // Labels of stackmap's metrics. A target label of such a name makes Prometheus rename stackmap's to
  // exported_NAME, and two targets that only this label separates would be equal in a join. Their series
  // take no part; the alert StackmapLabelsReplaced names them.
  local renamed = ['top', 'name', 'layer', 'role', 'device', 'disk', 'kind', 'level'],
  local absent(labels) = std.join(',', ['%s=""' % label for label in labels]),
  local plain = absent(['exported_device', 'top', 'name', 'layer', 'role', 'kind', 'level']),
  renamedLabels:: renamed,
  noDisk:: absent(['disk']),
  notReplaced:: absent(['exported_' + label for label in ['top', 'name', 'layer', 'role', 'device']]),

  textfile(metric, extra='')::
    local all = matchers([config.stackmapSelector, extra]);
    if all == '' then metric else '%s{%s}' % [metric, all],
  info(extra=''):: self.textfile('stackmap_stack_info', matchers([absent(['exported_top', 'exported_name', 'exported_kind', 'exported_level']), extra])),
  // Each disk with only these of the labels that node_exporter has of it. A disk that was replaced may have those of
  // both for five minutes where series have timestamps, as federation's; one of them, so that no join fails.
  diskLabels(kept)::
    local known = ['major', 'minor', 'path', 'wwn', 'revision', 'rotational', 'model', 'serial'];
    local left = std.setDiff(std.set(known), std.set(std.split(kept, ', ')));
    'topk without (%s) (1, max without (%s) (%s))' % [
      kept,
      std.join(', ', left),
      self.scrape('node_disk_info', config.nodeExporterSelector, 'model!="",' + plain),
    ],
  counter(name, extra=''):: 'node_disk_%s_total{%s}' % [name, matchers([config.nodeExporterSelector, plain, extra])],
  ownCounter(name):: 'stackmap_device_%s_total{%s}' % [name, matchers([config.stackmapSelector, plain])],
  scrape(metric, selector, extra='')::
    local all = matchers([selector, extra]);
    if all == '' then metric else '%s{%s}' % [metric, all],

  // The rate of a counter of each device; stackmap exports those that node_exporter leaves out.
  rate(name):: '(rate(%s[%s]) or rate(%s[%s]))' % [self.counter(name), config.range, self.ownCounter(name), config.range],
  // The rate of the sum of two counters; both are from the same scrape.
  rateOfBoth(one, other)::
    local sum(counter) = 'rate(%s[%s]) + rate(%s[%s])' % [counter(one), config.range, counter(other), config.range];
    '(%s\nor %s)' % [sum(self.counter), sum(self.ownCounter)],
  // Arrivals: completed, and merged into others.
  arrivals(direction):: self.rateOfBoth(direction + '_completed', direction + '_merged'),

  weight(extra=''):: self.textfile('stackmap_layer_weight', extra),
  // Each device's figure times its weight, per layer of each volume.
  perWeight(figure, extra=''):: '%s\n* ignoring (top, name, layer, role) group_left ()\n%s' % [self.weight(extra), figure],
}
