<?php
// The entities of a firm: people, their things, projects, bills.

use Doctrine\Common\Collections\ArrayCollection;
use Doctrine\Common\Collections\Collection;
use Doctrine\DBAL\Types\Types;
use Doctrine\ORM\EntityRepository;
use Doctrine\ORM\Mapping as ORM;

enum State: string
{
    case Open = 'open';
    case Paid = 'paid';
}

#[ORM\Embeddable]
class Address
{
    public function __construct(
        #[ORM\Column(length: 80, nullable: true)] public ?string $street = null,
        #[ORM\Column(length: 60, nullable: true, options: ['collation' => 'utf8mb4_german2_ci'])] public ?string $town = null,
    ) {
    }
}

class PersonRepository extends EntityRepository
{
    public function named(string $part): array
    {
        return $this->createQueryBuilder('p')->where('p.name LIKE :part')->setParameter('part', "%$part%")->orderBy('p.id')->getQuery()->getResult();
    }
}

#[ORM\Entity(repositoryClass: PersonRepository::class)]
#[ORM\Table(name: 'person', options: ['comment' => 'who works here', 'collate' => 'utf8mb4_unicode_ci', 'charset' => 'utf8mb4'])]
#[ORM\Index(columns: ['name'], name: 'by_name', options: ['lengths' => [20]])]
#[ORM\InheritanceType('SINGLE_TABLE')]
#[ORM\DiscriminatorColumn(name: 'kind', type: 'string', length: 10)]
#[ORM\DiscriminatorMap(['employee' => Employee::class, 'guest' => Guest::class])]
#[ORM\HasLifecycleCallbacks]
abstract class Person
{
    #[ORM\Id, ORM\Column(options: ['unsigned' => true]), ORM\GeneratedValue]
    public ?int $id = null;

    #[ORM\Column(length: 100)]
    public string $name;

    #[ORM\Column(length: 190, unique: true)]
    public string $email;

    #[ORM\Embedded(class: Address::class)]
    public Address $address;

    #[ORM\Column(type: 'micro_time', nullable: true)]
    public ?DateTimeImmutable $seen = null;

    public ?string $loaded = null;

    public function __construct(string $name, ?string $email = null)
    {
        $this->name = $name;
        $this->email = $email ?? strtolower($name) . '@example.org';
        $this->address = new Address();
    }

    #[ORM\PostLoad]
    public function mark(): void
    {
        $this->loaded = "loaded $this->name";
    }
}

#[ORM\Entity]
class Employee extends Person
{
    #[ORM\Column(type: 'grade', nullable: true)]
    public ?string $grade = 'junior';

    #[ORM\Column(type: Types::DECIMAL, precision: 10, scale: 2, nullable: true, options: ['unsigned' => true])]
    public ?string $salary = null;

    #[ORM\ManyToOne(inversedBy: 'team')]
    #[ORM\JoinColumn(onDelete: 'SET NULL')]
    public ?Employee $boss = null;

    #[ORM\OneToMany(mappedBy: 'boss', targetEntity: Employee::class)]
    #[ORM\OrderBy(['name' => 'DESC'])]
    public Collection $team;

    #[ORM\ManyToMany(targetEntity: Project::class, mappedBy: 'members', fetch: 'EXTRA_LAZY')]
    public Collection $projects;

    #[ORM\OneToMany(mappedBy: 'owner', targetEntity: Thing::class, cascade: ['persist', 'remove'])]
    public Collection $things;

    public function __construct(string $name, ?string $email = null)
    {
        parent::__construct($name, $email);
        $this->team = new ArrayCollection();
        $this->projects = new ArrayCollection();
        $this->things = new ArrayCollection();
    }
}

#[ORM\Entity]
class Guest extends Person
{
    #[ORM\Column(type: Types::DATE_IMMUTABLE, nullable: true)]
    public ?DateTimeImmutable $until = null;
}

#[ORM\Entity]
#[ORM\InheritanceType('JOINED')]
#[ORM\DiscriminatorColumn(name: 'sort', type: 'smallint')]
#[ORM\DiscriminatorMap([1 => Car::class, 2 => Laptop::class])]
abstract class Thing
{
    #[ORM\Id, ORM\Column(type: Types::GUID)]
    public string $id;

    #[ORM\ManyToOne(inversedBy: 'things')]
    #[ORM\JoinColumn(nullable: false)]
    public Employee $owner;

    public function __construct(string $id, Employee $owner)
    {
        [$this->id, $this->owner] = [$id, $owner];
        $owner->things->add($this);
    }
}

#[ORM\Entity]
class Car extends Thing
{
    #[ORM\Column(type: Types::FLOAT)]
    public float $power = 0;
}

#[ORM\Entity]
class Laptop extends Thing
{
    #[ORM\Column(type: Types::JSON)]
    public array $parts = [];
}

#[ORM\Entity]
class Project
{
    #[ORM\Id, ORM\Column, ORM\GeneratedValue]
    public ?int $id = null;

    #[ORM\Column(unique: true)]
    public string $title;

    #[ORM\Column(type: Types::JSON, nullable: true)]
    public ?array $extra = null;

    #[ORM\ManyToMany(targetEntity: Employee::class, inversedBy: 'projects', indexBy: 'id')]
    public Collection $members;

    #[ORM\ManyToOne]
    public ?Project $part_of = null;

    public function __construct(string $title, ?array $extra = null)
    {
        [$this->title, $this->extra, $this->members] = [$title, $extra, new ArrayCollection()];
    }
}

#[ORM\Entity]
#[ORM\Index(columns: ['state', 'made'])]
class Bill
{
    #[ORM\Id, ORM\Column(type: Types::BIGINT, options: ['unsigned' => true]), ORM\GeneratedValue]
    public ?string $id = null;

    #[ORM\Version, ORM\Column(type: Types::INTEGER)]
    public int $version = 1;

    #[ORM\Column(length: 10, enumType: State::class, options: ['default' => 'open'])]
    public State $state = State::Open;

    #[ORM\Column(type: Types::DATETIME_IMMUTABLE)]
    public DateTimeImmutable $made;

    #[ORM\Column(type: Types::TEXT, length: 65536, nullable: true, options: ['comment' => "it's \"free\" text"])]
    public ?string $note = null;

    #[ORM\ManyToOne]
    #[ORM\JoinColumn(nullable: false)]
    public Person $to;

    #[ORM\OneToMany(mappedBy: 'bill', targetEntity: Line::class, cascade: ['persist'], orphanRemoval: true, indexBy: 'number')]
    #[ORM\OrderBy(['number' => 'ASC'])]
    public Collection $lines;

    public function __construct(Person $to, string $made)
    {
        [$this->to, $this->made, $this->lines] = [$to, new DateTimeImmutable($made), new ArrayCollection()];
    }

    public function add(string $text, string $price, int $count = 1): self
    {
        $number = max([0, ...$this->lines->getKeys()]) + 1;
        $this->lines[$number] = new Line($this, $number, $text, $price, $count);
        return $this;
    }
}

#[ORM\Entity]
class Line
{
    public function __construct(
        #[ORM\Id, ORM\ManyToOne(inversedBy: 'lines'), ORM\JoinColumn(onDelete: 'CASCADE')] public Bill $bill,
        #[ORM\Id, ORM\Column(type: Types::SMALLINT, options: ['unsigned' => true])] public int $number,
        #[ORM\Column] public string $text,
        #[ORM\Column(type: Types::DECIMAL, precision: 12, scale: 4)] public string $price,
        #[ORM\Column(options: ['default' => 1])] public int $count = 1,
    ) {
    }
}

class Total
{
    public function __construct(public $name, public $bills, public $sum)
    {
    }
}
