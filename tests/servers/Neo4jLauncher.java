// Runs one Neo4j community server: Neo4jLauncher <data folder> <bolt port> <password>. Prints "ready" and waits.
import java.nio.file.Path;
import java.time.Duration;
import org.neo4j.configuration.GraphDatabaseSettings;
import org.neo4j.configuration.connectors.BoltConnector;
import org.neo4j.configuration.connectors.HttpConnector;
import org.neo4j.configuration.helpers.SocketAddress;
import org.neo4j.dbms.api.DatabaseManagementService;
import org.neo4j.dbms.api.DatabaseManagementServiceBuilder;

public class Neo4jLauncher {
    public static void main(String[] arguments) throws Exception {
        SocketAddress address = new SocketAddress("127.0.0.1", Integer.parseInt(arguments[1]));
        DatabaseManagementService server = new DatabaseManagementServiceBuilder(Path.of(arguments[0]))
            .setConfig(BoltConnector.enabled, true)
            .setConfig(BoltConnector.listen_address, address)
            .setConfig(BoltConnector.advertised_address, address)
            .setConfig(HttpConnector.enabled, false)
            .setConfig(GraphDatabaseSettings.auth_enabled, true)
            .setConfig(GraphDatabaseSettings.pagecache_memory, 64L * 1024 * 1024)
            .build();
        Runtime.getRuntime().addShutdownHook(new Thread(server::shutdown));
        server.database("system").executeTransactionally(
            "CREATE OR REPLACE USER neo4j SET PASSWORD $password CHANGE NOT REQUIRED",
            java.util.Map.of("password", arguments[2]));
        System.out.println("ready");
        System.out.flush();
        Thread.currentThread().join();
    }
}
