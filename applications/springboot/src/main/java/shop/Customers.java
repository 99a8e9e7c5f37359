package shop;

import java.util.*;
import org.springframework.data.jpa.repository.*;

/** Customers. */
public interface Customers extends JpaRepository<Customer, UUID> {
  @EntityGraph(attributePaths = {"orders"})
  Optional<Customer> findByEmail(String email);

  List<Customer> findByAddressCityOrderByName(String city);
}
