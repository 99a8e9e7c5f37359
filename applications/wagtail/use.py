"""A blog in Wagtail: migrations, pages, revisions, workflows, images, search, the admin."""

import datetime
import io
import logging
import os
import re
import sys
import warnings

HOST, PORT, USER, DATABASE = sys.argv[1:5]
os.environ.update(DB_HOST=HOST, DB_PORT=PORT, DB_USER=USER, DB_NAME=DATABASE,
                  DJANGO_SETTINGS_MODULE="journal.settings.own")
sys.path.insert(0, "site")
warnings.simplefilter("ignore")

import django  # noqa: E402

django.setup()
logging.disable(logging.CRITICAL)

from django.contrib.auth import get_user_model  # noqa: E402
from django.contrib.auth.models import Group  # noqa: E402
from django.core.files.base import ContentFile  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import IntegrityError, connection, transaction  # noqa: E402
from django.db.models import Avg, Count, F, Sum, Window  # noqa: E402
from django.db.models.functions import Lower, Rank, TruncMonth  # noqa: E402
from django.test import Client  # noqa: E402
from django.utils import timezone  # noqa: E402
from wagtail.contrib.forms.models import FormSubmission  # noqa: E402
from wagtail.contrib.redirects.models import Redirect  # noqa: E402
from wagtail.images import get_image_model  # noqa: E402
from wagtail.models import (  # noqa: E402
    Collection, GroupApprovalTask, Page, PageLogEntry, PageViewRestriction, ReferenceIndex, Revision,
    Site, Workflow, WorkflowPage, WorkflowTask)
from wagtail.models import Locale  # noqa: E402
from wagtail.search.backends import get_search_backend  # noqa: E402

from steps import check, show, step  # noqa: E402

if not os.path.exists("site/blog/migrations"):
    call_command("makemigrations", "blog", verbosity=0)
from blog.models import Author, BlogIndexPage, BlogPage, Contact, FormField, FormPage, Link  # noqa: E402

CLIENT = Client(HTTP_HOST="localhost")


def quietly(*command, **options):
    """What a command prints."""
    out = io.StringIO()
    call_command(*command, stdout=out, **options)
    return out.getvalue()


@step
def migrate():
    quietly("migrate", verbosity=0)
    quietly("migrate", run_syncdb=True, verbosity=0)
    check("[ ]" not in quietly("showmigrations"), "not all are applied")
    show(quietly("makemigrations", check_changes=True, dry_run=True).strip())


@step
def tables():
    with connection.cursor() as cursor:
        names = sorted(table.name for table in connection.introspection.get_table_list(cursor))
        show(names)
        for name in names:
            found = connection.introspection.get_constraints(cursor, name)
            show(name, sorted((key, sorted(map(str, value["columns"])), value["unique"], value["check"],
                               value["foreign_key"]) for key, value in found.items()))
            for column in connection.introspection.get_table_description(cursor, name):
                show(str(column.name), column.type_code, column.null_ok, column.extra,
                     str(column.default), column.collation)


@step
def inspect():
    models = quietly("inspectdb", "blog_blogpage", "wagtailcore_page", "blog_author")
    show(models.splitlines())


@step
def users():
    user = get_user_model().objects.create_superuser("ann", "ann@example.org", "secret")
    editor = get_user_model().objects.create_user("bob", "bob@example.org", "secret")
    editor.groups.add(Group.objects.get(name="Editors"))
    moderator = get_user_model().objects.create_user("cy", "cy@example.org", "secret")
    moderator.groups.add(Group.objects.get(name="Moderators"))
    show(user.pk, sorted(editor.get_all_permissions()))
    check(CLIENT.login(username="ann", password="secret"))


@step
def pages():
    home = Page.objects.get(depth=2)
    index = home.add_child(instance=BlogIndexPage(title="Blog", slug="blog", intro="<p>hi</p>"))
    authors = [Author.objects.create(name=f"Author {i}", email=f"a{i}@example.org",
                                     profile={"rank": i, "tags": ["x", i]}) for i in range(3)]
    for i in range(40):
        page = BlogPage(title=f"Entry {i} É 🙂", slug=f"entry-{i}", intro=f"about {i}", words=i * 100,
                        date=datetime.date(2024, 1 + i % 12, 1 + i % 28), price=f"{i}.25",
                        extra={"n": i, "even": i % 2 == 0}, reading=datetime.timedelta(minutes=i),
                        body=[("heading", f"heading {i}"), ("text", f"<p>text <b>{i}</b></p>")])
        page.links = [Link(title=f"link {i}.{j}", url="https://example.org/") for j in range(2)]
        page.authors = authors[:i % 3]
        page.tags.add(f"tag{i % 5}", "all")
        index.add_child(instance=page)
    show(BlogPage.objects.count(), Page.objects.get(pk=index.pk).numchild, Link.objects.count())
    show(list(BlogPage.objects.order_by("pk").values_list("path", "depth", "url_path", "total")[:5]))


@step
def queries():
    show(list(BlogPage.objects.filter(tags__name="tag1").order_by("-date").values_list("title", "date")))
    show(list(Page.objects.descendant_of(Page.objects.get(slug="blog")).order_by("path").specific()
              .values_list("title", flat=True)[:3]))
    entry = BlogPage.objects.get(slug="entry-5")
    show([page.title for page in entry.get_ancestors()], entry.get_next_sibling().title,
         [page.title for page in entry.get_siblings(inclusive=False)[:3]])
    show(list(BlogPage.objects.annotate(month=TruncMonth("date")).values("month")
              .annotate(n=Count("pk"), mean=Avg("words"), sum=Sum("price")).order_by("month")))
    show(list(BlogPage.objects.annotate(rank=Window(Rank(), partition_by="date__month",
                                                   order_by=F("words").desc()))
              .filter(rank=1).order_by("date", "pk").values_list("title", "rank")[:6]))
    show(BlogPage.objects.filter(extra__even=True, extra__n__gte=30).count(),
         list(Author.objects.filter(profile__tags__contains=2).values_list("name", flat=True)),
         list(Author.objects.filter(profile__rank__in=[0, 1]).values_list("name", flat=True)))
    show(list(BlogPage.objects.annotate(low=Lower("title")).filter(low__contains="entry 1")
              .exclude(authors__isnull=True).order_by("words").values_list("slug", flat=True)))
    show(BlogPage.objects.filter(title__iregex=r"entry 3\d").count(),
         BlogPage.objects.filter(reading__gt=datetime.timedelta(minutes=35)).count(),
         BlogPage.objects.filter(date__year=2024, date__week_day=2).count())
    show([page.title for page in Page.objects.type(BlogPage).public().live()
          .prefetch_related("view_restrictions").order_by("title")[:3]])


@step
def searches():
    show(sorted(page.title for page in BlogPage.objects.search("about 7")),
         sorted(page.title for page in Page.objects.live().search("entry 12")),
         BlogPage.objects.filter(words__lt=1000).search("about", operator="and").count(),
         [author.name for author in get_search_backend().autocomplete("Author 2", Author)])


@step
def revisions():
    page = BlogPage.objects.get(slug="entry-1")
    user = get_user_model().objects.get(username="ann")
    page.title = "Changed"
    page.save_revision(user=user, log_action=True)
    show(BlogPage.objects.get(slug="entry-1").title, page.revisions.count(),
         BlogPage.objects.get(pk=page.pk).has_unpublished_changes)
    page.get_latest_revision().publish(user=user)
    show(BlogPage.objects.get(slug="entry-1").title)
    page = BlogPage.objects.get(pk=page.pk)
    page.title, page.go_live_at = "Later", timezone.now() + datetime.timedelta(hours=1)
    page.save_revision(approved_go_live_at=page.go_live_at)
    show(Revision.objects.filter(approved_go_live_at__isnull=False).count())
    Revision.objects.filter(approved_go_live_at__isnull=False).update(
        approved_go_live_at=timezone.now() - datetime.timedelta(hours=1))
    quietly("publish_scheduled")
    show(BlogPage.objects.get(pk=page.pk).title)
    BlogPage.objects.get(slug="entry-2").unpublish(user=user)
    show(Page.objects.live().count(), Page.objects.not_live().count())
    show(list(PageLogEntry.objects.order_by("pk").values_list("action", "label")))


@step
def tree():
    index = Page.objects.get(slug="blog")
    home = index.get_parent()
    copy = index.copy(recursive=True, to=home, update_attrs={"slug": "copy", "title": "Copy"})
    show(copy.get_descendant_count(), copy.numchild, Page.objects.count())
    Page.objects.get(slug="copy").move(home, pos="first-child")
    first = Page.objects.get(slug="copy")
    show(first.path, list(first.get_children().values_list("path", "slug")[:3]))
    Page.objects.get(slug="copy").delete()
    show(Page.objects.count(), BlogPage.objects.count(), Page.find_problems())
    quietly("fixtree", interactive=False)


@step
def images():
    from PIL import Image as Picture
    out = io.BytesIO()
    Picture.new("RGB", (64, 48), "red").save(out, "PNG")
    collection = Collection.get_first_root_node().add_child(name="pictures")
    image = get_image_model().objects.create(title="red", collection=collection,
                                             file=ContentFile(out.getvalue(), "red.png"))
    image.tags.add("colour")
    show(image.width, image.height, image.get_rendition("fill-10x10").width, image.renditions.count())
    page = BlogPage.objects.get(slug="entry-4")
    page.body.append(("image", image))
    page.body.append(("page", Page.objects.get(slug="entry-5")))
    page.save_revision().publish()
    quietly("rebuild_references_index")
    show(ReferenceIndex.get_references_to(image).count(),
         ReferenceIndex.get_references_to(Page.objects.get(slug="entry-5")).count())


@step
def workflow():
    task = GroupApprovalTask.objects.create(name="look at it")
    task.groups.set(Group.objects.filter(name="Moderators"))
    flow = Workflow.objects.create(name="moderation")
    WorkflowTask.objects.create(workflow=flow, task=task, sort_order=0)
    WorkflowPage.objects.create(workflow=flow, page=Page.objects.get(slug="blog"))
    page = BlogPage.objects.get(slug="entry-6")
    editor, moderator = (get_user_model().objects.get(username=name) for name in ("bob", "cy"))
    page.title = "Moderated"
    page.save_revision(user=editor)
    state = page.get_workflow().start(page, editor)
    show(state.status, page.current_workflow_task.name)
    state.current_task_state.approve(user=moderator)
    state.refresh_from_db()
    show(state.status, BlogPage.objects.get(pk=page.pk).title)


@step
def constraints():
    def refused(run):
        try:
            with transaction.atomic():
                run()
        except Exception as error:  # pylint: disable=broad-except
            show(type(error).__name__, str(error))
        else:
            raise AssertionError("nothing was refused")
    refused(lambda: Author.objects.create(name="x", email="a1@example.org"))
    refused(lambda: BlogPage.objects.filter(slug="entry-1").update(words=200000))
    refused(lambda: BlogPage.objects.filter(slug="entry-1").update(intro="x" * 251))
    refused(lambda: Link.objects.create(page_id=4711, title="x", url="https://x.org", sort_order=1))
    with transaction.atomic():
        BlogPage.objects.filter(slug="entry-1").update(words=1)
        point = transaction.savepoint()
        BlogPage.objects.filter(slug="entry-1").update(words=2)
        transaction.savepoint_rollback(point)
        locked = BlogPage.objects.select_for_update(skip_locked=True, of=("self",)).get(slug="entry-1")
        show(locked.words)
    made = Author.objects.bulk_create([Author(name="new", email="a1@example.org"),
                                       Author(name="other", email="a9@example.org")],
                                      update_conflicts=True, update_fields=["name"])
    show(len(made), list(Author.objects.order_by("email").values_list("name", "email")))
    Author.objects.bulk_create([Author(name="again", email="a1@example.org")], ignore_conflicts=True)
    show(Author.objects.update_or_create(email="a9@example.org", defaults={"name": "changed"})[1],
         Author.objects.get_or_create(email="a10@example.org", defaults={"name": "x"})[1],
         Author.objects.filter(pk__gt=3).delete())


@step
def visitors():
    def seen(path, **options):
        answer = CLIENT.get(path, **options)
        title = re.search(r"<h1>(.*?)</h1>", answer.content.decode())
        show(path, answer.status_code, title and title.group(1))
    for path in ("/", "/blog/", "/blog/entry-1/", "/blog/entry-4/", "/blog/entry-2/", "/nowhere/",
                 "/search/?query=entry+3"):
        seen(path)
    Redirect.add_redirect("/old/", Page.objects.get(slug="blog"))
    show(Redirect.objects.count())
    PageViewRestriction.objects.create(page=Page.objects.get(slug="entry-7"), restriction_type="login")
    show(Page.objects.public().count(), Client().get("/blog/entry-7/", HTTP_HOST="localhost").status_code)


@step
def forms():
    page = Page.objects.get(depth=2).add_child(instance=FormPage(title="Ask", slug="ask"))
    FormField.objects.create(page=page, label="Name", field_type="singleline", sort_order=1)
    FormField.objects.create(page=page, label="Age", field_type="number", sort_order=2, required=False)
    show(CLIENT.get("/ask/").status_code, CLIENT.post("/ask/", {"name": "Dan É", "age": "5"}).status_code)
    show([entry.form_data for entry in FormSubmission.objects.all()],
         FormSubmission.objects.filter(form_data__age=5).count())


@step
def admin():
    index, entry = Page.objects.get(slug="blog"), Page.objects.get(slug="entry-8")
    author = Author.objects.first()
    paths = ["/admin/", f"/admin/pages/{index.pk}/", f"/admin/pages/{index.pk}/?q=entry", f"/admin/pages/{entry.pk}/edit/",
             f"/admin/pages/{index.pk}/?ordering=-latest_revision_created_at", f"/admin/pages/{entry.pk}/history/",
             f"/admin/pages/{entry.pk}/usage/", f"/admin/pages/{entry.pk}/delete/", f"/admin/pages/add/blog/blogpage/{index.pk}/",
             "/admin/pages/search/?q=entry", "/admin/images/", "/admin/images/?q=red", "/admin/documents/",
             "/admin/snippets/blog/author/", f"/admin/snippets/blog/author/edit/{author.pk}/",
             "/admin/reports/site-history/", "/admin/reports/aging-pages/", "/admin/reports/workflow/",
             "/admin/reports/page-types-usage/", "/admin/users/", "/admin/groups/", "/admin/sites/", "/admin/redirects/",
             "/admin/collections/", "/admin/workflows/list/", "/admin/forms/", "/admin/choose-page/?q=entry"]
    for path in paths:
        answer = CLIENT.get(path, follow=True)
        show(re.sub(r"\d+", "N", path), answer.status_code)
        check(answer.status_code == 200, path)


@step
def edit_in_admin():
    index = Page.objects.get(slug="blog")
    form = {"title": "By hand", "slug": "by-hand", "date": "2024-05-06", "intro": "typed", "words": "7", "tags": "one, two",
            "body-count": "1", "body-0-deleted": "", "body-0-order": "0", "body-0-type": "heading", "body-0-id": "",
            "body-0-value": "a heading", "links-TOTAL_FORMS": "1", "links-INITIAL_FORMS": "0", "links-MIN_NUM_FORMS": "0",
            "links-MAX_NUM_FORMS": "1000", "links-0-title": "l", "links-0-url": "https://example.org", "links-0-ORDER": "1",
            "comments-TOTAL_FORMS": "0", "comments-INITIAL_FORMS": "0", "comments-MIN_NUM_FORMS": "0", "comments-MAX_NUM_FORMS": "",
            "action-publish": "1"}
    answer = CLIENT.post(f"/admin/pages/add/blog/blogpage/{index.pk}/", form)
    show(answer.status_code)
    page = BlogPage.objects.get(slug="by-hand")
    show(page.live, page.title, sorted(page.tags.names()), page.links.count(), [b.value for b in page.body])
    show(CLIENT.post(f"/admin/pages/{page.pk}/edit/", {**form, "title": "By hand again", "links-TOTAL_FORMS": "0"}).status_code)
    show(BlogPage.objects.get(pk=page.pk).title)
    show(CLIENT.post(f"/admin/pages/{page.pk}/delete/").status_code, BlogPage.objects.filter(slug="by-hand").exists())


@step
def settings():
    contact = Contact.for_site(Site.objects.get(is_default_site=True))
    contact.phone = "123"
    contact.save()
    show(Contact.objects.count(), Locale.objects.count())


@step
def dump_and_load():
    dumped = quietly("dumpdata", "blog.author", "blog.link", indent=0)
    Link.objects.all().delete()
    with open("dump.json", "w", encoding="utf-8") as file:
        file.write(dumped)
    quietly("loaddata", "dump.json")
    show(Link.objects.count(), Author.objects.count())


@step
def migrate_back():
    quietly("migrate", "blog", "zero", verbosity=0)
    show([name for name in connection.introspection.table_names() if name.startswith("blog_")])
    quietly("migrate", "blog", verbosity=0)
    quietly("sqlflush")
    quietly("flush", interactive=False, verbosity=0)
    show(Page.objects.count())
