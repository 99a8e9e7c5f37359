<?php
use Illuminate\Database\Capsule\Manager as DB;
use Illuminate\Database\Migrations\Migration;
use Illuminate\Database\Schema\Blueprint;

return new class extends Migration {
    public function up()
    {
        $schema = DB::schema();
        $schema->table('members', function (Blueprint $table) {
            $table->string('phone', 30)->nullable()->after('name')->comment('with its country');
            $table->integer('points')->default(0)->first();
            $table->foreign('sponsor_code', 'fk_sponsor')->references('code')->on('members')->nullOnDelete();
        });
        $schema->table('authors', function (Blueprint $table) {
            $table->string('name', 120)->collation('utf8mb4_bin')->change();
            $table->renameColumn('born', 'born_on');
            $table->renameIndex('authors_name_index', 'by_name');
        });
        $schema->table('authors', function (Blueprint $table) {
            $table->renameColumn('born_on', 'born');
            $table->dropIndex('by_name');
            $table->index([DB::raw('name(10)')], 'by_beginning');
        });
        $schema->rename('remarks', 'notes');
        $schema->rename('notes', 'remarks');
    }

    public function down()
    {
        $schema = DB::schema();
        $schema->table('authors', function (Blueprint $table) {
            $table->dropIndex('by_beginning');
            $table->string('name', 80)->collation('utf8mb4_unicode_ci')->change();
            $table->index('name');
        });
        $schema->table('members', function (Blueprint $table) {
            $table->dropForeign('fk_sponsor');
            $table->dropColumn(['phone', 'points']);
        });
    }
};
