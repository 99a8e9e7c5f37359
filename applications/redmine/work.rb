# What people do with Redmine, through its pages.
require 'action_dispatch/testing/integration'
require 'json'
$stdout.sync = true
Rails.application.config.hosts.clear rescue nil
ActionController::Base.allow_forgery_protection = false

BROWSER = ActionDispatch::Integration::Session.new(Rails.application)
BROWSER.host! 'localhost'

def show(*values)
  puts JSON.generate(values.length == 1 ? values[0] : values)
end

def step(name)
  yield
  puts "step #{name} ok"
rescue StandardError => e
  puts "step #{name} FAILED #{e.class}: #{e.message[0, 400].gsub(/\s+/, ' ')}"
end

def get(path, **params)
  BROWSER.get(path, params: params)
  BROWSER.follow_redirect! while BROWSER.response.redirect?
  page(path)
end

def send_form(verb, path, **params)
  BROWSER.public_send(verb, path, params: params)
  error = BROWSER.response.body[/<div id="errorExplanation">(.*?)<\/div>/m, 1]
  raise "#{path}: #{error.gsub(/<[^>]+>/, ' ')}" if error
  BROWSER.follow_redirect! while BROWSER.response.redirect?
  page(path)
end

def page(path)
  raise "#{BROWSER.response.status} from #{path}: #{BROWSER.response.body[0, 300]}" if BROWSER.response.status >= 400
  BROWSER.response.body
end

def words(body, pattern)
  body.scan(pattern).flatten.map { |w| CGI.unescapeHTML(w.gsub(/<[^>]+>/, '').strip) }
end

step 'log_in' do
  User.find_by(login: 'admin').update!(must_change_passwd: false)
  send_form(:post, '/login', username: 'admin', password: 'admin')
  show words(get('/my/page'), /<title>(.*?)<\/title>/)
end

step 'settings' do
  send_form(:post, '/settings/edit', tab: 'general', settings: { app_title: 'Ünser Redmine 🌍', per_page_options: '5,25' })
  show words(get('/'), /<title>(.*?)<\/title>/), Setting.where(name: 'app_title').pluck(:value)
end

step 'project' do
  send_form(:post, '/projects', project: { name: 'Größe', identifier: 'size', description: 'h2. What', is_public: '1',
    tracker_ids: Tracker.pluck(:id), enabled_module_names: %w[issue_tracking time_tracking news documents files wiki boards calendar gantt] })
  send_form(:post, '/projects', project: { name: 'Child', identifier: 'child', parent_id: Project.find('size').id, inherit_members: '1', tracker_ids: Tracker.pluck(:id) })
  show Project.order(:lft).map { |p| [p.name, p.lft, p.rgt, p.parent_id] }
  send_form(:post, '/projects/size/versions', version: { name: '1.0', effective_date: '2024-12-01' })
  send_form(:post, '/projects/size/issue_categories', issue_category: { name: 'Änderungen' })
end

step 'users' do
  %w[bob cara].each_with_index do |login, i|
    send_form(:post, '/users', user: { login: login, firstname: login.capitalize, lastname: 'Łast', mail: "#{login}@example.org",
      password: 'secret-123', password_confirmation: 'secret-123', language: 'en' })
    send_form(:post, '/projects/size/memberships', membership: { user_ids: [User.find_by(login: login).id], role_ids: [Role.givable.order(:position)[i].id] })
  end
  send_form(:post, '/groups', group: { name: 'All' })
  Group.givable.first.users << User.find_by(login: 'bob')
  show Member.count, MemberRole.count, words(get('/users'), /<td class="username">(.*?)<\/td>/m)
  show words(get('/users', name: 'ŁAST'), /<td class="username">(.*?)<\/td>/m)
end

step 'custom_fields' do
  send_form(:post, '/custom_fields', type: 'IssueCustomField', custom_field: { name: 'Color', field_format: 'list', possible_values: "red\ngreen\nblue", is_for_all: '1', is_filter: '1', searchable: '1', tracker_ids: Tracker.pluck(:id) })
  send_form(:post, '/custom_fields', type: 'IssueCustomField', custom_field: { name: 'Cost', field_format: 'float', is_for_all: '1', is_filter: '1', tracker_ids: Tracker.pluck(:id) })
  show CustomField.order(:id).pluck(:name, :field_format)
end

step 'issues' do
  colors = %w[red green blue]
  cf = CustomField.find_by(name: 'Color').id
  cost = CustomField.find_by(name: 'Cost').id
  15.times do |i|
    send_form(:post, '/projects/size/issues', issue: { tracker_id: Tracker.order(:id)[i % 3].id, subject: "Issue #{i} ünïcode 🎉", description: "Text *#{i}* it's",
      priority_id: IssuePriority.active.order(:position)[i % 4].id, assigned_to_id: User.find_by(login: 'bob').id, start_date: "2024-01-#{format('%02d', i + 1)}",
      due_date: "2024-02-#{format('%02d', i + 1)}", estimated_hours: i, fixed_version_id: Version.first.id, category_id: IssueCategory.first.id,
      parent_issue_id: (i > 10 ? Issue.order(:id).first.id : nil), custom_field_values: { cf => colors[i % 3], cost => i * 1.5 } })
  end
  show Issue.count, Issue.order(:id).first.leaf?, Issue.order(:id).first.total_estimated_hours
end

step 'change_issues' do
  issue = Issue.order(:id).second
  send_form(:patch, "/issues/#{issue.id}", issue: { notes: 'A note 👍', status_id: IssueStatus.find_by(name: 'In Progress').id, done_ratio: 40, lock_version: issue.lock_version })
  begin
    send_form(:patch, "/issues/#{issue.id}", issue: { notes: 'late', done_ratio: 50, lock_version: issue.lock_version })
    show BROWSER.response.body.include?('updated by another user')
  rescue StandardError => e
    show e.message[0, 100]
  end
  send_form(:post, '/issues/bulk_update', ids: Issue.order(:id).limit(5).pluck(:id), issue: { priority_id: IssuePriority.active.last.id }, notes: 'all')
  send_form(:post, "/issues/#{issue.id}/relations", relation: { issue_to_id: Issue.order(:id).third.id, relation_type: 'precedes', delay: 2 })
  show issue.reload.journals.order(:id).map { |j| [j.notes, j.details.map { |d| [d.prop_key, d.old_value, d.value] }] }
  show words(get("/issues/#{issue.id}"), /<h3>(.*?)<\/h3>/m)
  send_form(:post, '/watchers/watch', object_type: 'issue', object_id: issue.id)
end

step 'lists' do
  subjects = /<td class="subject">(.*?)<\/td>/m
  show words(get('/projects/size/issues'), subjects)
  cf = "cf_#{CustomField.find_by(name: 'Color').id}"
  cost = "cf_#{CustomField.find_by(name: 'Cost').id}"
  [{ f: ['subject'], op: { subject: '~' }, v: { subject: ['ISSUE 1 ÜNÏ'] } },
   { f: [cf], op: { cf => '=' }, v: { cf => ['red'] } },
   { f: [cost], op: { cost => '>=' }, v: { cost => ['12'] } },
   { f: ['estimated_hours'], op: { estimated_hours: '><' }, v: { estimated_hours: %w[3 6] } },
   { f: ['due_date'], op: { due_date: '<=' }, v: { due_date: ['2024-02-05'] } },
   { f: ['status_id'], op: { status_id: '*' }, group_by: 'priority', t: ['estimated_hours'] },
   { f: ['status_id'], op: { status_id: 'o' }, group_by: cf, sort: "#{cost}:desc" },
   { f: ['parent_id'], op: { parent_id: '~' }, v: { parent_id: [Issue.order(:id).first.id.to_s] } },
   { f: ['relates'], op: { relates: '!*' } }, { f: ['precedes'], op: { precedes: '*' } },
   { f: ['watcher_id'], op: { watcher_id: '=' }, v: { watcher_id: ['me'] } },
   { f: ['updated_by'], op: { updated_by: '=' }, v: { updated_by: ['me'] } },
   { f: ['notes'], op: { notes: '~' }, v: { notes: ['note'] } },
   { sort: 'assigned_to,priority:desc,subject' }].each do |query|
    body = get('/projects/size/issues', set_filter: 1, per_page: 25, c: ['subject'], **query)
    show words(body, subjects), words(body, /<span class="count">(.*?)<\/span>/)
  end
  csv = get('/projects/size/issues.csv', 'columns' => 'all', encoding: 'UTF-8')
  show csv.lines.length
end

step 'search' do
  ['ünïcode', 'ISSUE 7', 'note', 'red', "it's", '100%', 'nothing'].each do |text|
    show text, words(get('/search', q: text, all_words: 1, per_page: 50), /<dt class="[^"]*">(.*?)<\/dt>/m)
  end
end

step 'time_and_wiki' do
  Issue.order(:id).limit(4).each_with_index do |issue, i|
    send_form(:post, "/issues/#{issue.id}/time_entries", time_entry: { hours: i + 0.25, spent_on: "2024-03-0#{i + 1}", activity_id: TimeEntryActivity.order(:id).first.id, comments: 'did' })
  end
  show words(get('/projects/size/time_entries'), /<td class="hours">(.*?)<\/td>/m)
  show words(get('/projects/size/time_entries/report', criteria: %w[issue activity], columns: 'month', period_type: 1), /<td class="name">(.*?)<\/td>/m)
  send_form(:put, '/projects/size/wiki/Start', content: { text: "h1. Start\n\n[[Other]]", comments: 'first' })
  send_form(:put, '/projects/size/wiki/Start', content: { text: "h1. Start\n\nchanged 日本", comments: 'second', version: 1 })
  send_form(:put, '/projects/size/wiki/Other', content: { text: 'other' })
  send_form(:post, '/projects/size/wiki/Other/rename', wiki_page: { title: 'Another', redirect_existing_links: 1 })
  show WikiPage.order(:id).map { |w| [w.title, w.content.version, w.content.text] }, WikiContentVersion.count
  get('/projects/size/wiki/Start/2/diff') if WikiPage.find_by(title: 'Start').content.version > 1
  get('/projects/size/wiki/Start/history')
end

step 'talk' do
  send_form(:post, '/projects/size/news', news: { title: 'News', summary: 's', description: 'd' })
  send_form(:post, "/news/#{News.first.id}/comments", comment: { comments: 'Good' })
  send_form(:post, '/projects/size/boards', board: { name: 'Talk', description: 'all' })
  send_form(:post, "/boards/#{Board.first.id}/topics/new", message: { subject: 'Topic', content: 'Hello' })
  send_form(:post, "/boards/#{Board.first.id}/topics/#{Message.first.id}/replies", message: { subject: 'RE', content: 'Hi' })
  show Message.order(:id).map { |m| [m.subject, m.replies_count] }, Board.first.messages_count, News.first.comments_count
end

step 'pages' do
  %w[/projects /projects/size /projects/size/roadmap /projects/size/activity /projects/size/issues/calendar /projects/size/issues/gantt
     /projects/size/news /projects/size/boards /projects/size/wiki/index /projects/size/settings /projects/size/issues/report /admin /admin/projects
     /admin/info /roles /trackers /issue_statuses /workflows/edit /custom_fields /enumerations /groups /my/account /activity /issues
     /time_entries /projects/size/versions.json /issues.json /projects.xml /roles/permissions].each do |path|
    get(path)
    show path, BROWSER.response.status
  end
end

step 'move_and_delete' do
  send_form(:post, '/issues/bulk_update', ids: [Issue.order(:id).last.id], issue: { project_id: Project.find('child').id })
  send_form(:post, '/projects/size/copy', project: { name: 'Copy', identifier: 'copy', tracker_ids: Tracker.pluck(:id) }, only: %w[members versions issue_categories issues queries wiki boards])
  show Project.find('copy').issues.count, Project.find('copy').wiki&.pages&.count
  send_form(:delete, "/issues/#{Issue.order(:id).first.id}", todo: 'destroy')
  send_form(:post, '/projects/child/archive')
  send_form(:delete, '/projects/copy', confirm: 'copy')
  show Project.order(:id).pluck(:identifier, :status, :lft, :rgt), Issue.count, Journal.count, CustomValue.count
  send_form(:delete, "/users/#{User.find_by(login: 'cara').id}", confirm: 'cara')
  show User.where(type: 'User').order(:id).pluck(:login, :status)
end
