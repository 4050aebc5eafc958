-- Uma loja em português: usuários e pedidos, papel de vendedor, endereços, e uma tabela de pessoas com chave composta.
-- person: cliente.cliente_id
-- protected: cliente, pedido, item_pedido, pagamento, avaliacao, carrinho
-- reference: endereco
-- others: funcionario, comissao
-- asked: sessao_web, cupom, newsletter
-- public: produto, categoria, transportadora, estado_pedido
-- hidden: cliente.nome, cliente.sobrenome, cliente.senha, cliente.cpf, cliente.email, avaliacao.comentario, pagamento.numero_cartao, pedido.vendedor_id
-- open: cliente.data_nascimento, cliente.cidade, pedido.estado_id, item_pedido.quantidade, avaliacao.nota, pagamento.forma
CREATE TABLE categoria (categoria_id int PRIMARY KEY, nome text);
CREATE TABLE produto (produto_id int PRIMARY KEY, nome text, preco numeric(8,2), categoria_id int REFERENCES categoria);
CREATE TABLE transportadora (transportadora_id int PRIMARY KEY, nome text);
CREATE TABLE estado_pedido (estado_id int PRIMARY KEY, nome text);
CREATE TABLE funcionario (funcionario_id int PRIMARY KEY, nome text, sobrenome text, salario numeric);
CREATE TABLE comissao (comissao_id int PRIMARY KEY, funcionario_id int REFERENCES funcionario, valor numeric(8,2));
CREATE TABLE endereco (endereco_id int PRIMARY KEY, rua text, cidade text, cep text);
CREATE TABLE cliente (cliente_id int PRIMARY KEY, nome text, sobrenome text, email text, senha text, cpf text, data_nascimento date, cidade text);
CREATE TABLE pedido (pedido_id int PRIMARY KEY, cliente_id int NOT NULL REFERENCES cliente, vendedor_id int REFERENCES funcionario, endereco_id int REFERENCES endereco, estado_id int REFERENCES estado_pedido, feito date);
CREATE TABLE item_pedido (pedido_id int REFERENCES pedido, produto_id int REFERENCES produto, quantidade int, PRIMARY KEY (pedido_id, produto_id));
CREATE TABLE pagamento (pagamento_id int PRIMARY KEY, pedido_id int NOT NULL REFERENCES pedido, forma text, numero_cartao text, valor numeric(8,2));
CREATE TABLE avaliacao (avaliacao_id int PRIMARY KEY, cliente_id int NOT NULL REFERENCES cliente, produto_id int REFERENCES produto, nota int, comentario text);
CREATE TABLE carrinho (cliente_id int PRIMARY KEY REFERENCES cliente, atualizado timestamp);
CREATE TABLE sessao_web (sessao_id text PRIMARY KEY, inicio timestamp);
CREATE TABLE cupom (cupom_id int PRIMARY KEY, codigo text, usado_no_pedido_id int REFERENCES pedido);
CREATE TABLE newsletter (newsletter_id int PRIMARY KEY, email text);
