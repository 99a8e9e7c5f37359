<?php
// The models of a library: authors, books, members, loans, words and remarks.

use Illuminate\Database\Eloquent\Builder;
use Illuminate\Database\Eloquent\Model;
use Illuminate\Database\Eloquent\Relations\Pivot;
use Illuminate\Database\Eloquent\SoftDeletes;

class Author extends Model
{
    protected $guarded = [];
    protected $casts = ['about' => 'array', 'born' => 'date:Y-m-d'];

    public function books()
    {
        return $this->hasMany(Book::class);
    }

    public function loans()
    {
        return $this->hasManyThrough(Loan::class, Book::class);
    }

    public function newest()
    {
        return $this->hasOne(Book::class)->latestOfMany('year');
    }

    public function remarks()
    {
        return $this->morphMany(Remark::class, 'subject');
    }
}

class Book extends Model
{
    use SoftDeletes;

    protected $guarded = [];
    protected $casts = ['price' => 'decimal:2', 'extra' => 'object', 'lent' => 'boolean', 'weight' => 'float'];

    public function author()
    {
        return $this->belongsTo(Author::class)->withDefault(['name' => 'nobody']);
    }

    public function words()
    {
        return $this->belongsToMany(Word::class)->using(Labelling::class)->withPivot('rank')->withTimestamps()->orderBy('rank');
    }

    public function loans()
    {
        return $this->hasMany(Loan::class);
    }

    public function remarks()
    {
        return $this->morphMany(Remark::class, 'subject');
    }

    public function scopeCheap(Builder $query, $below = 20)
    {
        $query->where('price', '<', $below);
    }

    public function getLabelAttribute()
    {
        return "$this->title ($this->year)";
    }
}

class Labelling extends Pivot
{
    public $incrementing = true;
    protected $casts = ['rank' => 'integer'];
}

class Word extends Model
{
    public $timestamps = false;
    protected $guarded = [];

    public function books()
    {
        return $this->belongsToMany(Book::class);
    }
}

class Member extends Model
{
    protected $primaryKey = 'code';
    protected $keyType = 'string';
    public $incrementing = false;
    protected $guarded = [];
    protected $hidden = ['secret'];
    // Times of six digits.
    protected $dateFormat = 'Y-m-d H:i:s.u';
    protected $casts = ['seen_at' => 'datetime'];


    public function loans()
    {
        return $this->hasMany(Loan::class, 'member_code');
    }

    public function sponsor()
    {
        return $this->belongsTo(self::class, 'sponsor_code');
    }

    public function sponsored()
    {
        return $this->hasMany(self::class, 'sponsor_code');
    }
}

class Loan extends Model
{
    public $timestamps = false;
    protected $guarded = [];
    protected $touches = ['book'];
    protected $casts = ['taken' => 'date:Y-m-d', 'returned' => 'date:Y-m-d'];

    public function book()
    {
        return $this->belongsTo(Book::class)->withTrashed();
    }

    public function member()
    {
        return $this->belongsTo(Member::class, 'member_code');
    }
}

class Remark extends Model
{
    public $timestamps = false;
    protected $guarded = [];

    public function subject()
    {
        return $this->morphTo();
    }
}
