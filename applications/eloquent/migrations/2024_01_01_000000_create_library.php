<?php
use Illuminate\Database\Capsule\Manager as DB;
use Illuminate\Database\Migrations\Migration;
use Illuminate\Database\Schema\Blueprint;

return new class extends Migration {
    public function up()
    {
        $schema = DB::schema();
        $schema->create('authors', function (Blueprint $table) {
            $table->id();
            $table->string('name', 80)->index();
            $table->string('email')->unique();
            $table->json('about')->nullable();
            $table->date('born')->nullable();
            $table->enum('kind', ['writer', 'editor', 'Other one'])->default('writer');
            $table->timestamps();
        });
        $schema->create('books', function (Blueprint $table) {
            $table->id();
            $table->foreignId('author_id')->nullable()->constrained()->cascadeOnUpdate()->restrictOnDelete();
            $table->char('isbn', 13)->charset('ascii')->collation('ascii_bin')->unique();
            $table->string('title')->comment('as on its cover: "it\'s 100%"');
            $table->year('year');
            $table->decimal('price', 8, 2)->unsigned()->default(9.99);
            $table->double('weight')->nullable();
            $table->json('extra')->nullable();
            $table->boolean('lent')->default(false);
            $table->unsignedSmallInteger('copies')->default(1);
            $table->decimal('total', 12, 2)->storedAs('price * copies');
            $table->string('short', 20)->virtualAs('left(title, 10)');
            $table->timestamps();
            $table->softDeletes();
            $table->index(['year', 'price']);
        });
        $schema->create('words', function (Blueprint $table) {
            $table->increments('id');
            $table->string('word', 40)->unique();
        });
        $schema->create('book_word', function (Blueprint $table) {
            $table->id();
            $table->foreignId('book_id')->constrained()->cascadeOnDelete();
            $table->unsignedInteger('word_id');
            $table->foreign('word_id')->references('id')->on('words')->onDelete('cascade');
            $table->tinyInteger('rank')->default(0);
            $table->timestamps();
            $table->unique(['book_id', 'word_id']);
        });
        $schema->create('members', function (Blueprint $table) {
            $table->uuid('code')->primary();
            $table->string('name');
            $table->binary('secret')->nullable();
            $table->string('sponsor_code', 36)->nullable();
            $table->dateTime('seen_at', 6)->nullable();
            $table->ipAddress('address')->nullable();
            $table->set('flags', ['a', 'b', 'c'])->nullable();
            $table->timestamps(6);
        });
        $schema->create('loans', function (Blueprint $table) {
            $table->bigIncrements('id');
            $table->foreignId('book_id')->constrained();
            $table->uuid('member_code');
            $table->foreign('member_code')->references('code')->on('members')->cascadeOnDelete();
            $table->date('taken');
            $table->date('returned')->nullable();
        });
        $schema->create('remarks', function (Blueprint $table) {
            $table->id();
            $table->morphs('subject');
            $table->text('text');
        });
    }

    public function down()
    {
        foreach (['remarks', 'loans', 'members', 'book_word', 'words', 'books', 'authors'] as $name) {
            DB::schema()->dropIfExists($name);
        }
    }
};
