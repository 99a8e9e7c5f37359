package shop;

import jakarta.persistence.LockModeType;
import jakarta.persistence.QueryHint;
import java.math.BigDecimal;
import java.util.*;
import java.util.stream.Stream;
import org.springframework.data.domain.*;
import org.springframework.data.jpa.repository.*;
import org.springframework.data.repository.query.Param;

/** Products, by queries that Spring Data derives and others. */
public interface Products extends JpaRepository<Product, Long>, JpaSpecificationExecutor<Product> {
  interface Row {
    String getTitle();
    Long getCount();
    BigDecimal getSum();
  }

  Optional<Product> findBySku(String sku);
  List<Product> findTop3ByTitleContainingIgnoreCaseAndPriceBetweenOrderByPriceDescSkuAsc(String title, BigDecimal from, BigDecimal to);
  Page<Product> findByStockLessThan(int stock, Pageable page);
  Slice<Product> findByTitleIn(Collection<String> titles, Pageable page);
  long countByWeightIsNull();
  boolean existsBySku(String sku);
  long deleteByTitle(String title);

  @Query("select p.title as title, count(p) as count, sum(p.price) as sum from Product p group by p.title having count(p) > 1 order by p.title")
  List<Row> byTitle();

  @Query(value = "SELECT sku, ROW_NUMBER() OVER (PARTITION BY title ORDER BY price DESC) n FROM products ORDER BY title, n LIMIT :limit", nativeQuery = true)
  List<Object[]> ranked(@Param("limit") int limit);

  @Modifying(clearAutomatically = true)
  @Query("update Product p set p.stock = p.stock + :by where p.title = :title")
  int raise(@Param("title") String title, @Param("by") int by);

  @Lock(LockModeType.PESSIMISTIC_WRITE)
  @Query("select p from Product p where p.sku = :sku")
  Optional<Product> lock(@Param("sku") String sku);

  @Lock(LockModeType.PESSIMISTIC_WRITE)
  @QueryHints(@QueryHint(name = "jakarta.persistence.lock.timeout", value = "-2"))
  @Query("select p from Product p where p.sku in :skus order by p.sku")
  List<Product> lockFree(@Param("skus") List<String> skus);

  @Lock(LockModeType.PESSIMISTIC_READ)
  @QueryHints(@QueryHint(name = "jakarta.persistence.lock.timeout", value = "0"))
  @Query("select p from Product p where p.sku = :sku")
  Optional<Product> lockNow(@Param("sku") String sku);

  @QueryHints(@QueryHint(name = "org.hibernate.fetchSize", value = "-2147483648"))
  @Query("select p from Product p order by p.id")
  Stream<Product> streamed();
}
