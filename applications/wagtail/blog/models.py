"""Pages of a blog: the kinds of fields that sites have."""

from django.db import models
from django.db.models import F, Q
from modelcluster.contrib.taggit import ClusterTaggableManager
from modelcluster.fields import ParentalKey, ParentalManyToManyField
from taggit.models import TaggedItemBase
from wagtail import blocks
from wagtail.admin.panels import FieldPanel, InlinePanel
from wagtail.contrib.forms.models import AbstractEmailForm, AbstractFormField
from wagtail.contrib.settings.models import BaseSiteSetting, register_setting
from wagtail.fields import RichTextField, StreamField
from wagtail.images.blocks import ImageChooserBlock
from wagtail.models import DraftStateMixin, Orderable, Page, RevisionMixin
from wagtail.search import index
from wagtail.snippets.models import register_snippet


class BlogIndexPage(Page):
    """The list of entries."""

    intro = RichTextField(blank=True)
    content_panels = [*Page.content_panels, FieldPanel("intro")]
    subpage_types = ["blog.BlogPage"]


class BlogTag(TaggedItemBase):
    """A tag of an entry."""

    content_object = ParentalKey("BlogPage", related_name="tagged_items", on_delete=models.CASCADE)


@register_snippet
class Author(DraftStateMixin, RevisionMixin, index.Indexed, models.Model):
    """Who writes."""

    name = models.CharField(max_length=100)
    email = models.EmailField(unique=True)
    profile = models.JSONField(default=dict, blank=True)
    panels = [FieldPanel("name"), FieldPanel("email"), FieldPanel("profile")]
    search_fields = [index.SearchField("name"), index.FilterField("email")]

    def __str__(self):
        return self.name


class BlogPage(Page):
    """An entry."""

    date = models.DateField()
    intro = models.CharField(max_length=250)
    words = models.PositiveIntegerField(default=0)
    price = models.DecimalField(max_digits=8, decimal_places=2, default=0)
    total = models.GeneratedField(expression=F("price") * 2, output_field=models.DecimalField(
        max_digits=10, decimal_places=2), db_persist=True)
    extra = models.JSONField(default=dict, blank=True)
    reading = models.DurationField(null=True, blank=True)
    body = StreamField([("heading", blocks.CharBlock()), ("text", blocks.RichTextBlock()),
                        ("image", ImageChooserBlock()), ("page", blocks.PageChooserBlock())])
    authors = ParentalManyToManyField("blog.Author", blank=True)
    tags = ClusterTaggableManager(through=BlogTag, blank=True)
    content_panels = [*Page.content_panels, FieldPanel("date"), FieldPanel("intro"),
                      FieldPanel("words"), FieldPanel("body"), FieldPanel("authors"),
                      FieldPanel("tags"), InlinePanel("links")]
    search_fields = [*Page.search_fields, index.SearchField("intro"), index.FilterField("date"),
                     index.FilterField("words")]
    parent_page_types = ["blog.BlogIndexPage"]

    class Meta:
        """Constraints and keys as MySQL 8 has them."""

        constraints = [models.CheckConstraint(condition=Q(words__lt=100000), name="blog_few_words")]
        indexes = [models.Index(fields=["-date", "words"], name="blog_date_words")]


class Link(Orderable):
    """A link below an entry."""

    page = ParentalKey(BlogPage, on_delete=models.CASCADE, related_name="links")
    title = models.CharField(max_length=100)
    url = models.URLField()
    panels = [FieldPanel("title"), FieldPanel("url")]


class FormField(AbstractFormField):
    """A field of a form."""

    page = ParentalKey("FormPage", on_delete=models.CASCADE, related_name="form_fields")


class FormPage(AbstractEmailForm):
    """A form that visitors fill in."""

    thanks = RichTextField(blank=True)
    template = "blog/form_page.html"
    landing_page_template = "blog/form_page.html"
    content_panels = [*AbstractEmailForm.content_panels, InlinePanel("form_fields")]


@register_setting
class Contact(BaseSiteSetting):
    """What the site says of itself."""

    phone = models.CharField(max_length=50, blank=True)
